// The extension module npar._native: npar.hpp for the Python files next to it, which users see.
#include "Calls.h"

NB_MODULE(_native, module) {
  using namespace npar_python;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) // its objects would be shared with another interpreter's
    throw nb::import_error(
        "npar works in the main interpreter only, not in a sub-interpreter: use threads, or processes of multiprocessing");
  nb::set_leak_warnings(false); // what Python keeps until its end is no fault, and the module prints nothing
  npar_str version = npar_version();
  module.attr("version") = nb::str(version.ptr, version.len);
  CallInProgress::countFromZeroInChildren();
  module.def("end_calls", &CallInProgress::endAll);
  addPrograms(module);
  addTensors(module);
  addTrainers(module);
}
