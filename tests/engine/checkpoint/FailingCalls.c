// Stands before the C library (LD_PRELOAD) and lets the n-th call of a kind on the files below a folder fail, or ends the process there:
// what a full disk, a broken one, missing memory and a kill at the worst moment do to a checkpoint.
//   NPAR_FAIL_FOLDER  paths that begin with it count, and descriptors opened by such paths
//   NPAR_FAIL_KIND    open, write, sync, rename, remove or alloc; any: all but alloc
//   NPAR_FAIL_AT      the number of the call, from 1
//   NPAR_FAIL_TIMES   how many calls fail from that one on (default: 1)
//   NPAR_FAIL_HOW     kill (as kill -9 does, before the call), or the number of an error
//   NPAR_FAIL_COUNT   a file that gets the number of calls when the process ends
//   NPAR_FAIL_FLOCK   ignore: flock() lets everyone pass, as some network file systems do
// Memory counts in a thread from where it makes a partial folder to where this gets its name or goes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { descriptors = 4096 };
static char ours[descriptors];
static long calls;
static __thread int saving;
static const char *folder, *kind, *how;
static long at, times;

__attribute__((constructor)) static void configure(void) {
  folder = getenv("NPAR_FAIL_FOLDER"), kind = getenv("NPAR_FAIL_KIND"), how = getenv("NPAR_FAIL_HOW");
  at = getenv("NPAR_FAIL_AT") ? atol(getenv("NPAR_FAIL_AT")) : 0;
  times = getenv("NPAR_FAIL_TIMES") ? atol(getenv("NPAR_FAIL_TIMES")) : 1;
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("NPAR_FAIL_COUNT");
  kind = NULL; // what is written here does not count
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%ld\n", calls);
    fclose(file);
  }
}

/// The lock's heartbeat comes by the clock, so its calls have no numbers.
static int counts(const char *path) {
  return folder && path && strncmp(path, folder, strlen(folder)) == 0 && !strstr(path, "/.npar-lock");
}

/// Whether this call is to fail; then errno is set.
static int fails(const char *what) {
  if (!kind || (strcmp(kind, what) != 0 && (strcmp(kind, "any") != 0 || strcmp(what, "alloc") == 0)))
    return 0;
  long call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (at == 0 || call < at || call >= at + times)
    return 0;
  if (strcmp(how, "kill") == 0)
    kill(getpid(), SIGKILL);
  errno = atoi(how);
  return 1;
}

static int isOurs(int file) { return file >= 0 && file < descriptors && ours[file]; }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int file, const char *path) {
  if (file >= 0 && file < descriptors)
    ours[file] = (char)counts(path);
  return file;
}

#define OPEN(name)                                                                                                                         \
  int name(const char *path, int flags, ...) {                                                                                             \
    mode_t mode = 0;                                                                                                                       \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                                                   \
      va_list list;                                                                                                                        \
      va_start(list, flags);                                                                                                               \
      mode = (mode_t)va_arg(list, int);                                                                                                    \
      va_end(list);                                                                                                                        \
    }                                                                                                                                      \
    if ((flags & O_CREAT) && counts(path) && fails("open"))                                                                                \
      return -1;                                                                                                                           \
    return opened(NEXT(name)(path, flags, mode), path);                                                                                    \
  }
OPEN(open)
OPEN(open64)

/// A descriptor of what lies in a folder that counts.
#define OPENAT(name)                                                                                                                       \
  int name(int top, const char *path, int flags, ...) {                                                                                    \
    mode_t mode = 0;                                                                                                                       \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                                                   \
      va_list list;                                                                                                                        \
      va_start(list, flags);                                                                                                               \
      mode = (mode_t)va_arg(list, int);                                                                                                    \
      va_end(list);                                                                                                                        \
    }                                                                                                                                      \
    int file = NEXT(name)(top, path, flags, mode);                                                                                         \
    if (file >= 0 && file < descriptors)                                                                                                   \
      ours[file] = (char)(isOurs(top) || counts(path));                                                                                    \
    return file;                                                                                                                           \
  }
OPENAT(openat)
OPENAT(openat64)

int mkdir(const char *path, mode_t mode) {
  if (counts(path) && fails("open"))
    return -1;
  if (counts(path) && strstr(path, ".partial-"))
    saving = 1;
  return NEXT(mkdir)(path, mode);
}

int unlinkat(int top, const char *path, int flags) {
  if (isOurs(top) && (flags & AT_REMOVEDIR) && strstr(path, ".partial-"))
    saving = 0;
  if (isOurs(top) && fails("remove"))
    return -1;
  return NEXT(unlinkat)(top, path, flags);
}

ssize_t write(int file, const void *bytes, size_t size) {
  if (!isOurs(file))
    return NEXT(write)(file, bytes, size);
  if (!fails("write"))
    return NEXT(write)(file, bytes, size);
  return -1;
}

int flock(int file, int operation) {
  const char *wanted = getenv("NPAR_FAIL_FLOCK");
  return wanted && strcmp(wanted, "ignore") == 0 ? 0 : NEXT(flock)(file, operation);
}

int fsync(int file) { return isOurs(file) && fails("sync") ? -1 : NEXT(fsync)(file); }

int close(int file) {
  if (file >= 0 && file < descriptors)
    ours[file] = 0;
  return NEXT(close)(file);
}

int renameat(int from, const char *old, int to, const char *new) {
  if (isOurs(from) && fails("rename"))
    return -1;
  if (isOurs(to) && !strstr(new, ".partial-"))
    saving = 0;
  return NEXT(renameat)(from, old, to, new);
}

/// Of files that are renamed into place, such as best.json.
int rename(const char *from, const char *to) {
  if (counts(from) && fails("rename"))
    return -1;
  return NEXT(rename)(from, to);
}

static int lacksMemory(void) { return saving && fails("alloc"); }
void *malloc(size_t size) { return lacksMemory() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return lacksMemory() ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return lacksMemory() ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return lacksMemory() ? NULL : __libc_memalign(alignment, size); }
