/* System calls that fail on request, and a journal of those that change files: preloaded into a process under test.

   Calls on files below a folder are counted; the one with the chosen number fails with the chosen error, or, beyond a
   number of bytes, every write fails as on a full disk. With a journal, every change is written down in order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096];
static long counted, chosen = -1, room = -1;
static int error, journal = -1, fired;

void faults_arm(const char *below, long number, int code, long bytes, int log) {
  snprintf(folder, sizeof folder, "%s", below);
  counted = 0, fired = 0, chosen = number, error = code, room = bytes, journal = log;
}
long faults_counted(void) { return counted; }
int faults_fired(void) { return fired; }

static int ours(const char *path) {
  if (!folder[0] || !path) return 0;
  if (strstr(path, "__pycache__") || strstr(path, ".venv")) return 0;
  char full[8192];
  if (path[0] != '/' && getcwd(full, 4096)) {
    strcat(full, "/");
    strncat(full, path, 4000);
    path = full;
  }
  return strncmp(path, folder, strlen(folder)) == 0;
}

static const char *name_of(int fd, char *out) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, out, 4095);
  out[size > 0 ? size : 0] = 0;
  return out;
}

static int fails(void) {
  long mine = __sync_add_and_fetch(&counted, 1);
  if (mine != chosen) return 0;
  fired = 1;
  errno = error;
  return 1;
}

static int full(size_t bytes) {
  if (room < 0) return 0;
  if (__sync_sub_and_fetch(&room, (long)bytes) >= 0) return 0;
  room = 0;
  fired = 1;
  errno = ENOSPC;
  return 1;
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static void note(const char *what, const char *path, const char *other, long offset, const void *data, size_t size) {
  if (journal < 0) return;
  REAL(ssize_t, "write", int, const void *, size_t);
  char head[9000];
  int length = snprintf(head, sizeof head, "%s\t%s\t%s\t%ld\t%zu\n", what, path, other, offset, size);
  char *all = malloc(length + size + 1);
  memcpy(all, head, length);
  if (size) memcpy(all + length, data, size);
  real(journal, all, length + size);
  free(all);
}

static int opened(const char *symbol, int at, const char *path, int flags, mode_t mode, int relative) {
  int mine = at == AT_FDCWD && ours(path);
  if (mine && fails()) return -1;
  if (mine && (flags & (O_WRONLY | O_RDWR)) && (flags & O_CREAT) && room == 0) return errno = ENOSPC, fired = 1, -1;
  int existed = mine && access(path, F_OK) == 0, saved = errno;
  int fd;
  errno = saved;
  if (relative) {
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, symbol);
    fd = real(at, path, flags, mode);
  } else {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, symbol);
    fd = real(path, flags, mode);
  }
  if (mine && fd >= 0 && (flags & O_CREAT) && !existed) note("create", path, "", 0, "", 0);
  if (mine && fd >= 0 && (flags & O_TRUNC) && existed) note("truncate", path, "", 0, "", 0);
  return fd;
}

#define OPEN(symbol) \
  int symbol(const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = va_arg(more, int); \
    va_end(more); \
    return opened(#symbol, AT_FDCWD, path, flags, mode, 0); \
  }
#define OPENAT(symbol) \
  int symbol(int at, const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = va_arg(more, int); \
    va_end(more); \
    return opened(#symbol, at, path, flags, mode, 1); \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t size) {
  REAL(ssize_t, "write", int, const void *, size_t);
  char path[4096];
  if (!folder[0] || !ours(name_of(fd, path))) return real(fd, data, size);
  if (fails() || full(size)) return -1;
  long offset = lseek(fd, 0, SEEK_CUR);
  ssize_t done = real(fd, data, size);
  if (done > 0) note("write", path, "", offset, data, done);
  return done;
}

#define PWRITE(symbol, kind) \
  ssize_t symbol(int fd, const void *data, size_t size, kind offset) { \
    REAL(ssize_t, #symbol, int, const void *, size_t, kind); \
    char path[4096]; \
    if (!folder[0] || !ours(name_of(fd, path))) return real(fd, data, size, offset); \
    if (fails() || full(size)) return -1; \
    ssize_t done = real(fd, data, size, offset); \
    if (done > 0) note("write", path, "", (long)offset, data, done); \
    return done; \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define READ(symbol, ...) \
  ssize_t symbol(int fd, void *data, size_t size PARAMETER(__VA_ARGS__)) { \
    REAL(ssize_t, #symbol, int, void *, size_t TYPE(__VA_ARGS__)); \
    char path[4096]; \
    if (folder[0] && ours(name_of(fd, path)) && fails()) return -1; \
    return real(fd, data, size ARGUMENT(__VA_ARGS__)); \
  }
#define PARAMETER(...) __VA_OPT__(, __VA_ARGS__ offset)
#define TYPE(...) __VA_OPT__(, __VA_ARGS__)
#define ARGUMENT(...) __VA_OPT__(, offset)
READ(read)
READ(pread, off_t)
READ(pread64, off64_t)

#define SYNC(symbol) \
  int symbol(int fd) { \
    REAL(int, #symbol, int); \
    char path[4096]; \
    if (!folder[0] || !ours(name_of(fd, path))) return real(fd); \
    if (fails()) return -1; \
    int done = real(fd); \
    if (!done) note("sync", path, "", 0, "", 0); \
    return done; \
  }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(symbol, kind) \
  int symbol(int fd, kind size) { \
    REAL(int, #symbol, int, kind); \
    char path[4096]; \
    if (!folder[0] || !ours(name_of(fd, path))) return real(fd, size); \
    if (fails()) return -1; \
    int done = real(fd, size); \
    if (!done) note("truncate", path, "", (long)size, "", 0); \
    return done; \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define MOVE(symbol, word) \
  int symbol(const char *from, const char *to) { \
    REAL(int, #symbol, const char *, const char *); \
    if (!ours(to)) return real(from, to); \
    if (fails()) return -1; \
    int done = real(from, to); \
    if (!done) note(word, from, to, 0, "", 0); \
    return done; \
  }
MOVE(rename, "rename")
MOVE(link, "link")

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  if (!ours(path)) return real(path, mode);
  if (fails()) return -1;
  int done = real(path, mode);
  if (!done) note("mkdir", path, "", 0, "", 0);
  return done;
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  int done = real(path);
  if (!done && ours(path)) note("unlink", path, "", 0, "", 0);
  return done;
}

int unlinkat(int at, const char *name, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  char path[8300] = "";
  if (folder[0] && name[0] != '/' && at != AT_FDCWD) strcat(strcat(strcpy(path, name_of(at, path)), "/"), name);
  int done = real(at, name, flags);
  if (!done && path[0] && ours(path)) note("unlink", path, "", 0, "", 0);
  return done;
}

int flock(int fd, int operation) {
  REAL(int, "flock", int, int);
  char path[4096];
  if (folder[0] && ours(name_of(fd, path)) && fails()) return -1;
  return real(fd, operation);
}
