#!/bin/sh
# skipped.sh FILE: one line that counts what tests skipped, and why; FILE has a line for each: reason, tab, test.
[ -s "$1" ] || { echo "skipped: nothing"; exit; }
cut -f 1 "$1" | sort | uniq -c | sort -rn | awk '{ n += $1; k = $1; sub(/^ *[0-9]+ /, ""); why = why "; " k " x " $0 }
    END { print "skipped: " n " tests or parts of tests" why }'
