// Shows what libraries do.
#include "tools/npar/terminal/Terminal.h"

#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <iostream>
#include <memory>
#include <vector>

namespace npar::driver {
namespace {

class Terminal final : public engine::Observer {
  void begin(const std::string &activity) override { activities.push_back(std::make_unique<Waiting>(activity)); }
  void phase(const std::string &name) override { activities.back()->phase(name); }
  void end() override { activities.pop_back(); }
  void remark(const std::string &sentence) override { printRemark(sentence); }
  void warn(const std::string &report) override {
    if (speaks()) // all processes of a job read the same text
      std::cerr << report;
  }

  std::vector<std::unique_ptr<Waiting>> activities;
};

} // namespace

engine::Observer &terminal() {
  static Terminal one;
  return one;
}

} // namespace npar::driver
