/* A library to preload: makes one call on one path fail, as on a broken disk or file server. The environment variable
   FAULTS names a file with one line, "CALL ERRNO PATH": that CALL (to open, read or list) on PATH fails with ERRNO. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fault(const char *call, const char *path) {
    char text[8192], named[16], faulty[4096];
    int number;
    const char *place = getenv("FAULTS");
    long file = place ? syscall(SYS_openat, AT_FDCWD, place, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    long length = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    if (length <= 0) return 0;
    text[length] = 0;
    if (sscanf(text, "%15s %d %4095[^\n]", named, &number, faulty) != 3) return 0;
    return strcmp(named, call) == 0 && strcmp(faulty, path) == 0 ? number : 0;
}

DIR *opendir(const char *path) {
    DIR *(*real)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
    int number = fault("list", path);
    if (number == 0) return real(path);
    errno = number;
    return NULL;
}

static int opened(const char *path, int flags, unsigned mode) {
    int number = fault("open", path);
    if (number == 0) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    errno = number;
    return -1;
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    unsigned mode = va_arg(rest, unsigned);
    va_end(rest);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    unsigned mode = va_arg(rest, unsigned);
    va_end(rest);
    return opened(path, flags, mode);
}

ssize_t read(int file, void *into, size_t most) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        int number = fault("read", path);
        if (number != 0) {
            errno = number;
            return -1;
        }
    }
    return syscall(SYS_read, file, into, most);
}
