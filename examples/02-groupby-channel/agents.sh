#!/bin/sh
# agents.sh RANKS PROGRAM [ARGUMENT...]: starts a program as the ranks of a group that meet through the agent of this
# machine, which is started for it, with a controller of its own. Needs the command `crossdock`.
folder=$(mktemp -d)
crossdock controller --listen "unix:$folder/controller" 2> "$folder/said" &
controller=$!
crossdock agent --at "unix:$folder/controller" --listen "unix:$folder/agent" 2>> "$folder/said" &
agent=$!
trap 'kill "$agent" "$controller"; wait; rm -rf "$folder"' EXIT
tries=0
until [ -S "$folder/agent" ]; do
  tries=$((tries + 1))
  if [ "$tries" -gt 300 ]; then
    cat "$folder/said" >&2
    exit 1
  fi
  sleep 0.1
done
CROSSDOCK_CONTROL="unix:$folder/agent" CROSSDOCK_JOB="orders-$$" sh "$(dirname "$0")/several.sh" "$@"
