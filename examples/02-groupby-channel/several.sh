#!/bin/sh
# several.sh RANKS PROGRAM [ARGUMENT...]: starts a program as the ranks of a group that meet in a folder.
ranks=$1
shift
CROSSDOCK_RANKS=$ranks
CROSSDOCK_MEET=$(mktemp -d)
export CROSSDOCK_RANKS CROSSDOCK_MEET
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
rm -rf "$CROSSDOCK_MEET"
exit $status
