// Manual pages, made from the help of the driver's commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace npar::driver {

/// The page npar(1) for the driver, or npar-NAME(1) for one of its commands, in troff with the macros of man(7). The page of a command has
/// its subcommands too.
std::string manualPage(const CLI::App &app);

} // namespace npar::driver
