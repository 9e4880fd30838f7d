#include "tools/npar/terminal/PrintJson.h"

#include <iostream>

namespace npar::driver {

void printJson(OrderedJson object, json::Form form) { std::cout << json::documentText(std::move(object), form) << '\n'; }

} // namespace npar::driver
