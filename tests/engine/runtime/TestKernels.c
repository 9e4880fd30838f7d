// Kernels of the hand-built programs, with the ABI of generated ones.
#include <stdint.h>

// x[i] = w[i] * sum(tokens) * (coordinate on axis 0 + 1)
void scale_tokens(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  const int32_t *tokens = buffers[0];
  const float *w = buffers[1];
  float *x = buffers[2], sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += (float)tokens[i];
  for (int64_t i = begin; i < end; ++i)
    x[i] = w[i] * sum * (float)(context[3] + 1);
}

// loss += sum_i x[i] * w[i] / 1024
void add_loss(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  const float *x = buffers[0], *w = buffers[1];
  double *loss = buffers[3];
  (void)context;
  for (int64_t i = 4 * begin; i < 4 * end; ++i)
    *loss += (double)(x[i] * w[i]) / 1024;
}

// acc[i] += x[i] (in place)
void accumulate(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  const float *x = buffers[1];
  float *acc = buffers[2];
  (void)context;
  for (int64_t i = begin; i < end; ++i)
    acc[i] += x[i];
}

// w[i] -= 0.001 * acc[i] (in place)
void descend(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  const float *acc = buffers[1];
  float *w = buffers[2];
  (void)context;
  for (int64_t i = begin; i < end; ++i)
    w[i] -= 0.001f * acc[i];
}

// y[i] = x[i] + step + 10 * micro
void stamp(void *const *buffers, const int64_t *context, int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + (float)(context[0] + 10 * context[1]);
}
