"""Runs a command on a system whose files cannot be locked, as on some network file systems; status 77 where it cannot.

    python tests/without_locks.py COMMAND...

Linux: a seccomp filter answers every flock(2) with ENOLCK, for the command and whatever it starts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys

FLOCK = {"x86_64": 73, "aarch64": 32}
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2


class Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint))


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(Instruction)))


def forbid_locks() -> bool:
    number = FLOCK.get(platform.machine())
    if number is None or sys.platform != "linux":
        return False
    instructions = (Instruction * 4)(
        Instruction(LOAD, 0, 0, 0),
        Instruction(JUMP_EQUAL, 0, 1, number),
        Instruction(RETURN, 0, 0, FAIL_WITH | errno.ENOLCK),
        Instruction(RETURN, 0, 0, ALLOW),
    )
    program = Program(len(instructions), instructions)
    control = ctypes.CDLL(None).prctl
    allowed = control(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    return allowed and bool(control(SECCOMP, FILTER, ctypes.byref(program), 0, 0) == 0)


if __name__ == "__main__":
    if not forbid_locks():
        sys.exit(77)
    os.execv(sys.argv[1], sys.argv[1:])
