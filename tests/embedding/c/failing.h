/* The memory functions of the C library, of which one call can be made to fail. operator new and all libraries of the program use them. */
#ifndef FAILING_H
#define FAILING_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static _Atomic long blocks;                 /* allocated and not yet freed, by all threads */
static _Thread_local int watched;           /* the allocations of this thread count */
static _Thread_local long counted, failing; /* allocations since `watch`, and the number of the one that fails */

static void watch(long number) { counted = 0, failing = number, watched = 1; }

/* Ends watching; returns the number of allocations. */
static long unwatch(void) {
  watched = 0;
  return counted;
}

static int fails(void) {
  if (!watched || counted++ != failing)
    return 0;
  errno = ENOMEM;
  return 1;
}

static void *given(void *memory) {
  if (memory)
    ++blocks;
  return memory;
}

void *malloc(size_t size) { return fails() ? NULL : given(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : given(__libc_calloc(count, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : given(__libc_memalign(alignment, size)); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : given(__libc_memalign(alignment, size)); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *made = fails() ? NULL : given(__libc_memalign(alignment, size));
  if (made)
    *memory = made;
  return made ? 0 : ENOMEM;
}

void *realloc(void *memory, size_t size) {
  if (fails())
    return NULL;
  void *made = __libc_realloc(memory, size);
  blocks += (made && !memory) - (!made && memory && size == 0);
  return made;
}

void free(void *memory) {
  if (memory)
    --blocks;
  __libc_free(memory);
}
#endif
