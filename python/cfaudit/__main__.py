"""`python -m cfaudit` is the program itself."""

import os
import sys

from cfaudit._program import program

if __name__ == "__main__":
    found = program()
    os.execv(found, [found, *sys.argv[1:]])
