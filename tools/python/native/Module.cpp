// The extension module npar._native: npar.hpp for the Python files next to it, which users see.
#include "Calls.h"

NB_MODULE(_native, module) {
  using namespace npar_python;
  nb::set_leak_warnings(false); // what Python keeps until its end is no fault, and the module prints nothing
  npar_str version = npar_version();
  module.attr("version") = nb::str(version.ptr, version.len);
  addPrograms(module);
  addTensors(module);
  addTrainers(module);
}
