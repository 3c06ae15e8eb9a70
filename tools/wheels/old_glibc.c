/* Functions of the C library that came after version 2.28 and that Crossdock or libstdc++ call. A wheel has them inside
 * (tools/wheels/old_glibc.py): each asks the machine's own C library first, and does without it where that is older. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALL_OF(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))

/* Says that atomic operations are always needed, which is right and, in programs of one thread, a little slower. */
char __libc_single_threaded = 0;

/* Before 2.33 these were inline calls of the functions below, which every version has. */
#if defined(__x86_64__)
enum { kStatVersion = 1 };
#else
enum { kStatVersion = 0 };
#endif
int __xstat(int version, const char* path, struct stat* out);
int __lxstat(int version, const char* path, struct stat* out);
int __fxstat(int version, int file, struct stat* out);
int __fxstatat(int version, int folder, const char* path, struct stat* out, int flags);

int stat(const char* path, struct stat* out) { return __xstat(kStatVersion, path, out); }
int lstat(const char* path, struct stat* out) { return __lxstat(kStatVersion, path, out); }
int fstat(int file, struct stat* out) { return __fxstat(kStatVersion, file, out); }
int fstatat(int folder, const char* path, struct stat* out, int flags) {
  return __fxstatat(kStatVersion, folder, path, out, flags);
}

/* On 64-bit systems these are the same. */
int stat64(const char* path, struct stat64* out) { return stat(path, (struct stat*)out); }
int lstat64(const char* path, struct stat64* out) { return lstat(path, (struct stat*)out); }
int fstat64(int file, struct stat64* out) { return fstat(file, (struct stat*)out); }

/* The time on the clock of the calendar at which `until` of another clock is reached, if nobody sets the calendar. */
static struct timespec on_calendar(clockid_t clock, const struct timespec* until) {
  struct timespec now;
  struct timespec calendar;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &calendar);
  int64_t nanoseconds = calendar.tv_nsec + (int64_t)until->tv_nsec - now.tv_nsec;
  calendar.tv_sec += until->tv_sec - now.tv_sec;
  for (; nanoseconds < 0; nanoseconds += 1000000000) calendar.tv_sec -= 1;
  for (; nanoseconds >= 1000000000; nanoseconds -= 1000000000) calendar.tv_sec += 1;
  calendar.tv_nsec = nanoseconds;
  return calendar;
}

/* May end early when the calendar is set: waiting in C++ allows for that. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  __typeof__(&pthread_cond_clockwait) call = CALL_OF(pthread_cond_clockwait);
  if (call) return call(condition, mutex, clock, until);
  const struct timespec calendar = on_calendar(clock, until);
  return pthread_cond_timedwait(condition, mutex, &calendar);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  __typeof__(&pthread_mutex_clocklock) call = CALL_OF(pthread_mutex_clocklock);
  if (call) return call(mutex, clock, until);
  const struct timespec calendar = on_calendar(clock, until);
  return pthread_mutex_timedlock(mutex, &calendar);
}

/* The older call counts in int, and so modulo 4 GiB. */
struct mallinfo2 mallinfo2(void) {
  __typeof__(&mallinfo2) call = CALL_OF(mallinfo2);
  if (call) return call();
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();
  const struct mallinfo2 wide = {(uint32_t)old.arena,    (uint32_t)old.ordblks,  (uint32_t)old.smblks,
                                 (uint32_t)old.hblks,    (uint32_t)old.hblkhd,   (uint32_t)old.usmblks,
                                 (uint32_t)old.fsmblks,  (uint32_t)old.uordblks, (uint32_t)old.fordblks,
                                 (uint32_t)old.keepcost};
  return wide;
}

uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
  }
  return number;
}

int getcpu(unsigned* cpu, unsigned* node) { return (int)syscall(SYS_getcpu, cpu, node, (void*)0); }
