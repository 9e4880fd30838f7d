/* A thousand trainers, one after the other: no descriptor, no thread and no memory stays. */
#include "check.h"

#include <dirent.h>

static long entriesOf(const char *path) {
  long count = 0;
  DIR *folder = opendir(path);
  CHECK(folder);
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count;
}

static long kilobytes(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  long value = 0;
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, "VmRSS:", 6) == 0)
      value = strtol(line + 6, NULL, 10);
  CHECK(file && fclose(file) == 0);
  return value;
}

int main(void) {
  npar_program *program = compiled();
  long descriptors = 0, threads = 0, memory = 0;
  for (int i = 1; i <= 1000; ++i) {
    npar_trainer *trainer = trainerOf(program);
    if (i % 10 == 0)
      step(trainer);
    npar_trainer_free(trainer);
    if (i == 100)
      descriptors = entriesOf("/proc/self/fd"), threads = entriesOf("/proc/self/task"), memory = kilobytes();
  }
  CHECK(entriesOf("/proc/self/fd") == descriptors);
  CHECK(entriesOf("/proc/self/task") <= threads);
  /* 900 trainers that each left 16 kB would be more; what remains is the fragmentation of malloc. */
  CHECK(kilobytes() - memory < 900 * 16);
  npar_program_free(program);
  return finish("many_trainers");
}
