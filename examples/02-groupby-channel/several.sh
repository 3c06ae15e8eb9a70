#!/bin/sh
# several.sh RANKS PROGRAM [ARGUMENT...]: starts a program as the ranks of a group that meet in a folder, or through the
# agent that CROSSDOCK_CONTROL names.
ranks=$1
shift
CROSSDOCK_RANKS=$ranks
export CROSSDOCK_RANKS
if [ -z "$CROSSDOCK_CONTROL" ]; then
  CROSSDOCK_MEET=$(mktemp -d)
  export CROSSDOCK_MEET
fi
started=
rank=0
while [ "$rank" -lt "$ranks" ]; do
  CROSSDOCK_RANK=$rank "$@" &
  started="$started $!"
  rank=$((rank + 1))
done
status=0
for process in $started; do
  wait "$process" || status=1
done
[ -n "$CROSSDOCK_CONTROL" ] || rm -rf "$CROSSDOCK_MEET"
exit $status
