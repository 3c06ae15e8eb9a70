#!/usr/bin/env bash
# Runs what a bundle (`make gpu-bundle`) has on the GPU of this machine, each step in a process of its own and with a limit
# of its own, so that one that hangs costs its limit and no more. Changes no setting of the card.
#
#   gpu_run.sh <bundle> <out> [phase...]      phases: see below, in the order in which they tell most; none: all
#   LIMIT_S=540 gpu_run.sh …                  seconds for everything; what finds none left says so
#
# Leaves in <out>: steps.jsonl (a line for each step: passed, failed, hung, no GPU, or why it did not run),
# lines.jsonl (what programs print as JSON, with the step), and logs.tar.gz (logs, profiles). tools/gpu_report.py reads them.
# Ends with 0 if all steps passed, 3 if no step found a GPU, else 1.
set -u
if [ $# -lt 2 ]; then sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; fi
bin=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
shift 2
phases=("$@")
[ ${#phases[@]} -eq 0 ] && phases=(facts probe operators codecs channels errors suites sanitize bench profile)
limit_s=${LIMIT_S:-3600}
logs=$out/logs
rm -rf "$logs"; mkdir -p "$logs"; : >"$out/steps.jsonl"; : >"$out/lines.jsonl"
export PATH=$PATH:/usr/local/cuda/bin
hung=0
# A tool that is missing tells nothing where there is no GPU anyway.
absence="no such tool"
"$bin/crossdock_gpu_tests" --gtest_filter=none >/dev/null 2>&1
[ $? -eq 3 ] && absence="no GPU"

say() {  # say <step> <status> <rc> <seconds> <limit>
  printf '{"schema_version": 1, "step": "%s", "status": "%s", "rc": %s, "seconds": %s, "limit_s": %s}\n' "$@" | tee -a "$out/steps.jsonl"
}

# step <name> <limit in s> <command...>
step() {
  local name=$1 seconds=$2 left=$((limit_s - SECONDS)) begun=$EPOCHREALTIME rc took status
  shift 2
  if [ "$left" -lt 5 ]; then say "$name" "no time left" null 0 "$seconds"; return 1; fi
  if ! command -v "$1" >/dev/null && [ ! -x "$1" ]; then say "$name" "$absence" null 0 "$seconds"; return 1; fi
  [ "$left" -lt "$seconds" ] && seconds=$left
  timeout -k 5 "$seconds" "$@" >"$logs/${name//\//-}.log" 2>&1
  rc=$?
  took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
  case $rc in
    0) status=passed ;;
    3) status="no GPU" ;;
    124 | 137) status=hung; hung=$((hung + 1)) ;;
    *) status=failed ;;
  esac
  say "$name" "$status" "$rc" "$took" "$seconds"
  sed -n "s|^{\(.*\)}\$|{\"step\": \"$name\", \1}|p" "$logs/${name//\//-}.log" >>"$out/lines.jsonl"
  [ "$rc" -eq 0 ] || [ "$rc" -eq 3 ] || tail -15 "$logs/${name//\//-}.log"
  return "$rc"
}

# Each test that a program lists, in its order, in a process of its own: each <phase> <limit> <program> <filter>
each() {
  local phase=$1 seconds=$2 program=$3 filter=$4 suite="" line
  while IFS= read -r line; do
    line=${line%%#*}
    case $line in
      "  "*)
        line=${line//[[:space:]]/}
        [ "$hung" -ge 3 ] && { say "$phase/$line" "not run after three hangs" null 0 "$seconds"; continue; }
        step "$phase/$line" "$seconds" "$bin/$program" --gtest_filter="$suite$line" ;;
      *.*) suite=${line//[[:space:]]/} ;;
    esac
  done < <("$bin/$program" --gtest_list_tests --gtest_filter="$filter" 2>/dev/null)
}

facts() {
  step facts 30 bash -c 'command -v nvidia-smi >/dev/null || exit 3
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,memory.total --format=csv,noheader |
      sed "s/\(.*\), \(.*\), \(.*\), \(.*\)/{\"bench\": \"machine\", \"gpu\": \"\1\", \"driver\": \"\2\", \"clock\": \"\3\", \"memory\": \"\4\"}/"
    nvidia-smi -q | head -150; lscpu | head -25; free -g; env | grep -i cuda; cat '"$bin"'/bundle.json'
}

# The probe says in a minute what a hang of the channels would not: which copies go on beside kernels that stay.
probe() {
  step probe/8-connections 150 env CUDA_DEVICE_MAX_CONNECTIONS=8 "$bin/crossdock_gpu_probe"
  step probe/32-connections 150 env CUDA_DEVICE_MAX_CONNECTIONS=32 "$bin/crossdock_gpu_probe"
}

sane() {  # sane <tool> <what> <limit> <program> <filter>
  step "$1/$2" "$3" compute-sanitizer --tool "$1" --error-exitcode 9 "$bin/$4" --gtest_filter="$5"
}

# Channels come last: a tool that puts kernels one behind the other makes them wait for ever.
sanitize() {
  for tool in memcheck racecheck synccheck initcheck; do
    sane $tool operators 120 crossdock_gpu_tests 'GpuOperators.*-*not_there*'
    sane $tool codecs 60 crossdock_gpu_tests 'GpuCodecs.Place*:GpuCodecs.Refuse*'
  done
  sane memcheck channels 60 crossdock_gpu_tests 'Shapes/GpuExchange*rings_of_one_segment*'
}

# nvCOMP's library, a peer of codecs: beside the bundle's programs, where NVCOMP says, or as a wheel of this machine.
find_nvcomp() {
  local name=libnvcomp.so.6 wheels
  wheels=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)
  for place in "${NVCOMP:-}" "$bin/$name" "$wheels/nvidia/libnvcomp/lib64/$name"; do
    [ -f "$place" ] && { echo "$place"; return; }
  done
}

bench() {
  local nvcomp variant
  nvcomp=$(find_nvcomp)
  step bench/operators-small 60 "$bin/crossdock_gpu_operator_bench" --scale 0.02
  step bench/operators 180 "$bin/crossdock_gpu_operator_bench"
  step bench/codecs 120 "$bin/crossdock_gpu_codec_bench" ${nvcomp:+--nvcomp "$nvcomp"}
  step bench/channels-in-place 120 "$bin/crossdock_gpu_bench"
  step bench/channels-alone 120 "$bin/crossdock_gpu_bench" --alone
  step bench/channels-copied 120 "$bin/crossdock_gpu_bench" --copied
  step bench/example-04 60 "$bin/crossdock_groupby_kernel"
  # What each fix changes: the same without it.
  for variant in atomics bounds pairs; do
    step "bench/operators@without-$variant" 180 "$bin/crossdock_gpu_operator_bench_$variant" --scale 0.5
  done
  step bench/operators@half 180 "$bin/crossdock_gpu_operator_bench" --scale 0.5
  for variant in atomics bounds; do
    step "bench/channels@without-$variant" 120 "$bin/crossdock_gpu_bench_$variant"
  done
}

profile() {
  local kernel
  for kernel in PartitionCount PartitionScatter JoinBuild JoinProbe GroupAdd FillWords; do
    step "profile/$kernel" 60 ncu --clock-control none --set full --kernel-name-base mangled -k "regex:$kernel" -s 2 -c 2 \
      -f -o "$logs/$kernel" "$bin/crossdock_gpu_operator_bench" --scale 0.05
  done
  for kernel in encode_columns decode_columns; do
    step "profile/$kernel" 60 ncu --clock-control none --set full -k "$kernel" -s 2 -c 2 -f -o "$logs/$kernel" \
      "$bin/crossdock_gpu_codec_bench" --orders 4000000
  done
}

for phase in "${phases[@]}"; do
  case $phase in
    facts | probe | sanitize | bench | profile) $phase ;;
    operators) each operators 120 crossdock_gpu_tests 'GpuOperators*' ;;
    codecs) each codecs 120 crossdock_gpu_tests 'GpuCodecs*' ;;
    channels) each channels 45 crossdock_gpu_tests '*GpuRings*:*GpuExchange*' ;;
    errors) each errors 60 crossdock_gpu_tests 'GpuErrors*' ;;
    suites) each suites 120 crossdock_gpu_suites '*Concurrent*:GpuPlugin*' ;;
    *) echo "no phase $phase" >&2; exit 2 ;;
  esac
done
tar -C "$logs" -czf "$out/logs.tar.gz" . && rm -rf "$logs"
if ! grep -qv '"status": "no GPU"' "$out/steps.jsonl"; then exit 3; fi
! grep -qv '"status": "passed"' "$out/steps.jsonl"
