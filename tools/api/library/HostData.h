// The data of a trainer whose host hands over each batch: a checkpoint records how many samples were taken, and nothing can be read again.
#pragma once

#include "engine/data/DataSource.h"

namespace npar::api {

class HostData final : public engine::DataSource {
public:
  explicit HostData(const engine::BatchShape &shape) : rows(shape.rows) {}
  engine::Batch batch(int64_t) const override { return {}; }
  void goOnFrom(int64_t step, int64_t taken) override { before = taken - step * rows; }
  int64_t position(int64_t step) const override { return before + step * rows; }
  int64_t samples() const override { return 0; }
  std::string stream() const override { return engine::hostStream; }

private:
  int64_t rows, before = 0;
};

} // namespace npar::api
