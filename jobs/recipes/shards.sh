#!/bin/sh
# A job in shards on this machine: shards.sh JOB SHARDS PLAN OUT. WORKERS says how many workers run at once.
# Start it again after a failure: shards that are done are not done again.
set -eu
job=$1 shards=$2 plan=$3 out=$4
cfaudit plan "$job" --shards "$shards" --to "$plan"
for pass in survey learn count shift; do
    seq 0 $((shards - 1)) |
        xargs -P "${WORKERS:-4}" -I SHARD cfaudit worker "$plan" --pass "$pass" --shard SHARD --threads 1
    cfaudit merge "$plan" --pass "$pass"
done
exec cfaudit run "$job" --from "$plan" --out "$out"
