/// npar for C++17: objects over npar.h, in this header only, so that no C++ type crosses the border of the library.
///
/// Errors       Functions that can fail return a Result: test ok(), or call orThrow(), which throws npar::Exception.
/// Exceptions   An exception that leaves an observer or an import function ends the work, and the call that was made throws it again.
/// Ownership    A Program is a handle that copies share. A Trainer is moved. Views keep the memory that they show. Destroy in any order.
/// Threads      Any number of threads may use a Program. A Trainer is for one thread at a time, except stop().
/// Shapes       Sizes and strides count elements. Arrays without strides are row-major.
/// JSON         Results whose members grow from version to version are JSON text with a member `schema`: see STABILITY.md.
#ifndef NPAR_NPAR_HPP
#define NPAR_NPAR_HPP

#include <npar/arrays.hpp>
#include <npar/errors.hpp>
#include <npar/program.hpp>
#include <npar/trainer.hpp>

#endif
