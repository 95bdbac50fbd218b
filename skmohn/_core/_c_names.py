"""Names of models in C, which are those of files and prefixes of macros."""

import re

_ISO_C = """\
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
stdalign stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib
stdnoreturn string tgmath threads time uchar wchar wctype
"""
_POSIX = """\
aio cpio devctl dirent dlfcn endian fcntl fmtmsg fnmatch ftw glob grp iconv langinfo
libgen libintl monetary mqueue ndbm netdb nl_types poll pthread pwd regex sched search
semaphore spawn strings stropts syslog tar termios trace ulimit unistd utime utmpx wait
wordexp
"""
# Headers of glibc, musl, newlib, avr-libc and compilers that the others include, and
# those of Arduino and Windows, whose files are the same where case does not count.
_INNER = """\
alloca arduino byteswap fastmath features gcov ieee754 ieeefp malloc memory newlib
reent regdef syslimits unwind values varargs windows xlocale
"""
# Files that Windows takes for a device, whatever they end with.
_DEVICES = """\
aux con nul prn com0 com1 com2 com3 com4 com5 com6 com7 com8 com9
lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9
"""
_SYSTEM = frozenset(f"{_ISO_C}{_POSIX}{_INNER}".split())


def validate_name(name: str) -> None:
    """Raise unless a name can be that of files and the prefix of names in C."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        raise ValueError(
            "name must be a C identifier of at most 31 lowercase letters, digits and "
            f"underscores that begins with a letter, got {name!r}; macros use it in "
            "capitals"
        )
    if name in _SYSTEM:
        raise ValueError(
            f"name={name!r} is the name of a header of C libraries, which would "
            f"include this {name}.h instead: choose another name"
        )
    if name in _DEVICES.split():
        raise ValueError(
            f"name={name!r} is a device on Windows, where no file can have that name: "
            "choose another one"
        )
