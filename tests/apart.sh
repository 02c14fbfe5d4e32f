#!/bin/sh
# apart.sh PROGRAM COMMAND...: runs tests and puts back the program that `make` built, or removes theirs where none was there.
# Where `make` builds the program, `cargo test` puts its own: optimised less, with all checks.
program=$1
shift
kept=$program.kept

back() {
    if [ -e "$kept" ]; then mv -f "$kept" "$program"; fi
    if [ -z "$was_there" ]; then rm -f "$program"; fi
    rm -f "$kept"
}

was_there=
if [ -e "$program" ] || [ -e "$kept" ]; then was_there=yes; fi
# What tests that were killed left is older than they, and belongs here.
if [ -e "$program" ] && [ ! -e "$kept" ]; then
    ln "$program" "$kept" 2>/dev/null || cp -p "$program" "$kept"
fi
trap back EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$@"
