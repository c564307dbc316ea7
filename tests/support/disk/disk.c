/* A disk that fails on command: a layer between a process and libc, loaded with LD_PRELOAD.
 *
 * CUEBASE_DISK_ROOT   the layer applies only to paths below this one
 * CUEBASE_DISK_RULES  a file of rules, read again whenever it changes; one rule per line:
 *
 *     ACTION OPERATION PATTERN COUNT
 *
 *   OPERATION  open (for writing or creating), read, write, sync, rename, link, unlink, truncate, allocate, mkdir, or any
 *              of these but read; look (opening for reading, listing a folder, reading the metadata of a path)
 *   PATTERN    the rule applies to paths that contain this text; * for all
 *   COUNT      0: every time; n: at the n-th time only
 *   ACTION     enospc, eio, erofs, emfile, eacces, eperm: the call fails with this error; kill, killafter: the process
 *              is killed before or after the call; tear: half of a write is done, then the process is killed; for other
 *              calls the same as killafter
 *
 *   A rule `count OPERATION PATTERN 0` adds a byte to the file CUEBASE_DISK_RULES.counted for every matching call.
 *
 *   A rule `slow OPERATION PATTERN MILLISECONDS` delays every matching call, which then succeeds; delays add up.
 *
 *   A rule `clock - - SECONDS` shifts the wall clock forward, or back if negative, also for timed waits on it.
 *
 *   A rule `uptime - - SECONDS` adds to the monotonic clock. It holds from the next call on a watched path on. Timed
 *   waits on that clock take longer, so it is for processes that are killed afterwards.
 *
 * CUEBASE_DISK_JOURNAL  a folder. The file `journal` in it records all changes of names and bytes, in order. Files that
 *                       are overwritten or removed are linked there under a number. A power cut is imitated from both:
 *
 *     create PATH | write PATH | sync PATH LENGTH | syncfs PATH | rename FROM TO KEPT | unlink PATH KEPT | truncate PATH LENGTH
 *
 *   Parts are separated by tabs. KEPT is PROCESS-NUMBER; the number is 0 if there was no file. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { RULES_MAX = 16, LINE_MAX_BYTES = 3 * PATH_MAX };

struct rule {
    char action[16], operation[16], pattern[256];
    long count, seen;
};

static struct rule rules[RULES_MAX];
static int rules_used;
static long clock_offset, uptime_offset;
static ino_t rules_file;
static struct timespec rules_of;
static const char *root, *rules_path, *journal_folder;
static int journal = -1;
static unsigned long kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void) {
    root = getenv("CUEBASE_DISK_ROOT");
    rules_path = getenv("CUEBASE_DISK_RULES");
    journal_folder = getenv("CUEBASE_DISK_JOURNAL");
    if (journal_folder) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/journal", journal_folder);
        journal = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

static int watched(const char *path) {
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

/* Reads the rules again if they have changed. The caller holds the lock. */
static void read_rules(void) {
    struct stat now;
    if (!rules_path || stat(rules_path, &now) != 0) {
        rules_used = 0;
        return;
    }
    /* Each set of rules is a new file. Two written within one clock tick have the same time, but not the same inode. */
    if (now.st_ino == rules_file && now.st_mtim.tv_sec == rules_of.tv_sec && now.st_mtim.tv_nsec == rules_of.tv_nsec)
        return;
    rules_file = now.st_ino;
    rules_of = now.st_mtim;
    rules_used = 0;
    long offset = 0, uptime = 0;
    int file = REAL(open)(rules_path, O_RDONLY | O_CLOEXEC);
    char text[RULES_MAX * 300];
    ssize_t bytes = file < 0 ? 0 : REAL(read)(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    char *line, *rest = text;
    while ((line = strsep(&rest, "\n")) && rules_used < RULES_MAX) {
        struct rule *rule = &rules[rules_used];
        rule->seen = 0;
        if (sscanf(line, "%15s %15s %255s %ld", rule->action, rule->operation, rule->pattern, &rule->count) != 4)
            continue;
        if (strcmp(rule->action, "clock") == 0)
            offset = rule->count;
        else if (strcmp(rule->action, "uptime") == 0)
            uptime = rule->count;
        else
            rules_used++;
    }
    clock_offset = offset;
    __atomic_store_n(&uptime_offset, uptime, __ATOMIC_SEQ_CST);
}

enum verdict { GO_ON, FAIL, TEAR, KILL_AFTER };

/* Sleeps for the whole time, also if signals arrive, and keeps errno. */
static void sleep_ms(long milliseconds) {
    int error = errno;
    struct timespec left = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    errno = error;
}

/* Adds a byte to the file of counted calls. */
static void count_call(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.counted", rules_path);
    int file = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || REAL(write)(file, ".", 1) != 1)
        abort();
    close(file);
}

/* Decides whether an operation on a path succeeds. Sets errno if it fails. */
static enum verdict judge(const char *operation, const char *path) {
    if (!rules_path || !watched(path))
        return GO_ON;
    enum verdict verdict = GO_ON;
    long delay = 0;
    pthread_mutex_lock(&lock);
    read_rules();
    for (int n = 0; n < rules_used && verdict == GO_ON; n++) {
        struct rule *rule = &rules[n];
        /* Reads are frequent and change nothing, so `any` does not match them. */
        int reads = strcmp(operation, "read") == 0 || strcmp(operation, "look") == 0;
        int any = strcmp(rule->operation, "any") == 0 && !reads;
        if (!any && strcmp(rule->operation, operation) != 0)
            continue;
        if (strcmp(rule->pattern, "*") != 0 && !strstr(path, rule->pattern))
            continue;
        if (strcmp(rule->action, "slow") == 0) {
            delay += rule->count;
            continue;
        }
        if (strcmp(rule->action, "count") == 0) {
            count_call();
            continue;
        }
        rule->seen++;
        if (rule->count && rule->seen != rule->count)
            continue;
        if (strcmp(rule->action, "kill") == 0)
            kill(getpid(), SIGKILL);
        verdict = strcmp(rule->action, "killafter") == 0 ? KILL_AFTER : strcmp(rule->action, "tear") == 0 ? TEAR : FAIL;
        if (verdict == FAIL)
            errno = strcmp(rule->action, "enospc") == 0  ? ENOSPC
                    : strcmp(rule->action, "erofs") == 0 ? EROFS
                    : strcmp(rule->action, "emfile") == 0 ? EMFILE
                    : strcmp(rule->action, "eacces") == 0 ? EACCES
                    : strcmp(rule->action, "eperm") == 0  ? EPERM
                                                          : EIO;
    }
    pthread_mutex_unlock(&lock);
    if (delay > 0)
        sleep_ms(delay);
    return verdict;
}

/* Kills the process after a call. Only a write can be torn, and it does not come here then. */
static void finish(enum verdict verdict) {
    if (verdict == KILL_AFTER || verdict == TEAR)
        kill(getpid(), SIGKILL);
}

/* Returns the path of a descriptor; empty if it has none. */
static const char *path_of(int file, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t bytes = readlink(link, buffer, PATH_MAX - 1);
    buffer[bytes > 0 ? bytes : 0] = 0;
    return buffer;
}

/* Returns the path of a name below a directory's descriptor. */
static const char *path_at(int folder, const char *name, char *buffer) {
    if (name[0] == '/' || folder == AT_FDCWD)
        return name;
    char folder_path[PATH_MAX];
    snprintf(buffer, PATH_MAX, "%.2000s/%.2000s", path_of(folder, folder_path), name);
    return buffer;
}

static void note(const char *format, ...) {
    if (journal < 0)
        return;
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (REAL(write)(journal, line, bytes) != bytes)
        abort();
}

/* Links a file that is about to be overwritten or removed into the journal's folder. Returns the link's number. */
static unsigned long keep(const char *path) {
    struct stat found;
    if (journal < 0 || stat(path, &found) != 0 || !S_ISREG(found.st_mode))
        return 0;
    unsigned long number = __atomic_add_fetch(&kept, 1, __ATOMIC_SEQ_CST);
    char to[PATH_MAX];
    snprintf(to, sizeof to, "%s/%d-%lu", journal_folder, getpid(), number);
    return REAL(link)(path, to) == 0 ? number : 0;
}

static int opened(const char *path, int flags, int existed, int file) {
    if (file >= 0 && watched(path) && (flags & O_CREAT) && !existed)
        note("create\t%s\n", path);
    if (file >= 0 && watched(path) && (flags & O_TRUNC) && existed)
        note("truncate\t%s\t0\n", path);
    return file;
}

#define OPEN(name, parameters, path, call)                                                                             \
    int name parameters {                                                                                              \
        mode_t mode = 0;                                                                                               \
        if (flags & (O_CREAT | O_TMPFILE)) {                                                                           \
            va_list rest;                                                                                              \
            va_start(rest, flags);                                                                                     \
            mode = va_arg(rest, mode_t);                                                                               \
            va_end(rest);                                                                                              \
        }                                                                                                              \
        char buffer[PATH_MAX];                                                                                         \
        (void)buffer;                                                                                                  \
        const char *at = path;                                                                                         \
        int changes = flags & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC);                                                 \
        int existed = watched(at) && access(at, F_OK) == 0;                                                            \
        enum verdict verdict = judge(changes ? "open" : "look", at);                                                   \
        if (verdict == FAIL)                                                                                           \
            return -1;                                                                                                 \
        int file = opened(at, flags, existed, call);                                                                   \
        finish(verdict);                                                                                               \
        return file;                                                                                                   \
    }

OPEN(open, (const char *name, int flags, ...), name, REAL(open)(name, flags, mode))
OPEN(open64, (const char *name, int flags, ...), name, REAL(open64)(name, flags, mode))
OPEN(openat, (int folder, const char *name, int flags, ...), path_at(folder, name, buffer),
     REAL(openat)(folder, name, flags, mode))
OPEN(openat64, (int folder, const char *name, int flags, ...), path_at(folder, name, buffer),
     REAL(openat64)(folder, name, flags, mode))

DIR *opendir(const char *name) {
    if (judge("look", name) == FAIL)
        return NULL;
    return REAL(opendir)(name);
}

int statx(int folder, const char *restrict name, int flags, unsigned mask, struct statx *restrict found) {
    char buffer[PATH_MAX];
    /* Without a name, the caller finds out whether the system has this call. The header declares that there is always
     * one, so without `volatile` the compiler would leave out the test. */
    const char *volatile given = name;
    if (given && judge("look", path_at(folder, given, buffer)) == FAIL)
        return -1;
    return REAL(statx)(folder, name, flags, mask, found);
}

#define WRITE(name, parameters, arguments, half)                                                                       \
    ssize_t name parameters {                                                                                          \
        char buffer[PATH_MAX];                                                                                         \
        const char *at = root ? path_of(file, buffer) : "";                                                            \
        enum verdict verdict = judge("write", at);                                                                     \
        if (verdict == FAIL)                                                                                           \
            return -1;                                                                                                 \
        if (watched(at))                                                                                               \
            note("write\t%s\n", at);                                                                                   \
        if (verdict == TEAR) {                                                                                         \
            half;                                                                                                      \
            kill(getpid(), SIGKILL);                                                                                   \
        }                                                                                                              \
        ssize_t done = REAL(name) arguments;                                                                           \
        finish(verdict);                                                                                               \
        return done;                                                                                                   \
    }

WRITE(write, (int file, const void *bytes, size_t count), (file, bytes, count),
      (void)!REAL(write)(file, bytes, count / 2))
WRITE(pwrite, (int file, const void *bytes, size_t count, off_t offset), (file, bytes, count, offset),
      (void)!REAL(pwrite)(file, bytes, count / 2, offset))
WRITE(pwrite64, (int file, const void *bytes, size_t count, off64_t offset), (file, bytes, count, offset),
      (void)!REAL(pwrite64)(file, bytes, count / 2, offset))
WRITE(writev, (int file, const struct iovec *parts, int count), (file, parts, count),
      (void)!REAL(write)(file, parts[0].iov_base, parts[0].iov_len / 2))

WRITE(pwritev, (int file, const struct iovec *parts, int count, off_t offset), (file, parts, count, offset),
      (void)!REAL(pwrite)(file, parts[0].iov_base, parts[0].iov_len / 2, offset))

#define READ(name, parameters, arguments)                                                                              \
    ssize_t name parameters {                                                                                          \
        char buffer[PATH_MAX];                                                                                         \
        if (rules_used && judge("read", path_of(file, buffer)) == FAIL)                                                \
            return -1;                                                                                                 \
        return REAL(name) arguments;                                                                                   \
    }

READ(read, (int file, void *bytes, size_t count), (file, bytes, count))
READ(pread, (int file, void *bytes, size_t count, off_t offset), (file, bytes, count, offset))
READ(pread64, (int file, void *bytes, size_t count, off64_t offset), (file, bytes, count, offset))

#define SYNC(name)                                                                                                     \
    int name(int file) {                                                                                               \
        char buffer[PATH_MAX];                                                                                         \
        const char *at = root ? path_of(file, buffer) : "";                                                            \
        enum verdict verdict = judge("sync", at);                                                                      \
        if (verdict == FAIL)                                                                                           \
            return -1;                                                                                                 \
        struct stat found;                                                                                             \
        int known = watched(at) && fstat(file, &found) == 0;                                                           \
        int done = REAL(name)(file);                                                                                   \
        if (known && done == 0)                                                                                        \
            note("sync\t%s\t%lld\n", at, S_ISDIR(found.st_mode) ? -1LL : (long long)found.st_size);                    \
        finish(verdict);                                                                                               \
        return done;                                                                                                   \
    }

SYNC(fsync)
SYNC(fdatasync)

int syncfs(int file) {
    char buffer[PATH_MAX];
    const char *at = root ? path_of(file, buffer) : "";
    enum verdict verdict = judge("sync", at);
    if (verdict == FAIL)
        return -1;
    int done = REAL(syncfs)(file);
    if (watched(at) && done == 0)
        note("syncfs\t%s\n", at);
    finish(verdict);
    return done;
}

#define TRUNCATE(name, kind)                                                                                           \
    int name(int file, kind length) {                                                                                  \
        char buffer[PATH_MAX];                                                                                         \
        const char *at = root ? path_of(file, buffer) : "";                                                            \
        enum verdict verdict = judge("truncate", at);                                                                  \
        if (verdict == FAIL)                                                                                           \
            return -1;                                                                                                 \
        int done = REAL(name)(file, length);                                                                           \
        if (watched(at) && done == 0)                                                                                  \
            note("truncate\t%s\t%lld\n", at, (long long)length);                                                       \
        finish(verdict);                                                                                               \
        return done;                                                                                                   \
    }

TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int fallocate(int file, int mode, off_t offset, off_t length) {
    char buffer[PATH_MAX];
    enum verdict verdict = judge("allocate", root ? path_of(file, buffer) : "");
    if (verdict == FAIL)
        return -1;
    int done = REAL(fallocate)(file, mode, offset, length);
    finish(verdict);
    return done;
}

int rename(const char *from, const char *to) {
    enum verdict verdict = judge("rename", to);
    if (verdict == FAIL)
        return -1;
    unsigned long former = watched(to) ? keep(to) : 0;
    int done = REAL(rename)(from, to);
    if (watched(to) && done == 0)
        note("rename\t%s\t%s\t%d-%lu\n", from, to, getpid(), former);
    finish(verdict);
    return done;
}

static int unlinked(const char *path, int (*act)(const char *, int, const char *, int), int folder, const char *name,
                    int flags) {
    enum verdict verdict = judge("unlink", path);
    if (verdict == FAIL)
        return -1;
    unsigned long former = watched(path) ? keep(path) : 0;
    int done = act(path, folder, name, flags);
    if (watched(path) && done == 0)
        note("unlink\t%s\t%d-%lu\n", path, getpid(), former);
    finish(verdict);
    return done;
}

static int by_path(const char *path, int folder, const char *name, int flags) {
    (void)folder, (void)name, (void)flags;
    return REAL(unlink)(path);
}

static int by_name(const char *path, int folder, const char *name, int flags) {
    (void)path;
    return REAL(unlinkat)(folder, name, flags);
}

int unlink(const char *path) {
    return unlinked(path, by_path, 0, path, 0);
}

int unlinkat(int folder, const char *name, int flags) {
    char buffer[PATH_MAX];
    return unlinked(path_at(folder, name, buffer), by_name, folder, name, flags);
}

int rmdir(const char *path) {
    enum verdict verdict = judge("unlink", path);
    if (verdict == FAIL)
        return -1;
    int done = REAL(rmdir)(path);
    finish(verdict);
    return done;
}

int link(const char *from, const char *to) {
    enum verdict verdict = judge("link", to);
    if (verdict == FAIL)
        return -1;
    int done = REAL(link)(from, to);
    finish(verdict);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    enum verdict verdict = judge("mkdir", path);
    if (verdict == FAIL)
        return -1;
    int done = REAL(mkdir)(path, mode);
    finish(verdict);
    return done;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = REAL(clock_gettime)(clock, time);
    if (done == 0 && clock == CLOCK_REALTIME && rules_path) {
        pthread_mutex_lock(&lock);
        read_rules();
        time->tv_sec += clock_offset;
        pthread_mutex_unlock(&lock);
    }
    /* Called too often to read the rules each time. */
    if (done == 0 && clock == CLOCK_MONOTONIC)
        time->tv_sec += __atomic_load_n(&uptime_offset, __ATOMIC_SEQ_CST);
    return done;
}

/* The caller's time comes from the shifted clock, so it is shifted back. Programs are built with version 2.3.2 of this
 * function; without a version, dlsym would find an older, incompatible one. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    static __typeof__(&pthread_cond_timedwait) wait;
    if (!wait)
        wait = (__typeof__(wait))dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec real_time = *until;
    real_time.tv_sec -= clock_offset;
    return wait(condition, mutex, &real_time);
}
