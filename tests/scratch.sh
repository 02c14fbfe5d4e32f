#!/bin/sh
# scratch.sh: where tests make and remove their thousands of small files, as an assignment. In memory where a gigabyte is free there and
# programs may start from it; nothing where TMPDIR is set or memory will not do, which leaves the usual folder.
[ -z "$TMPDIR" ] || exit 0
grep -q '^[^ ]* /dev/shm [^ ]* [^ ]*noexec' /proc/mounts 2>/dev/null && exit 0
df -k /dev/shm 2>/dev/null | awk 'NR == 2 && $4 > 1048576 { print "TMPDIR=/dev/shm" }'
