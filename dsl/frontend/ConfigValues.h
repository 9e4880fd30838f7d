// The values of configuration files as constants of a model, and back.
#pragma once

#include "dsl/Families.h"
#include "dsl/constants/Evaluate.h"

namespace npar::dsl {

/// The constant that an entry of a file gives; none if the entry is null or no plain value.
Value valueOf(const ConfigEntry &entry);

/// The value as a configuration file holds it.
ConfigValue configValueOf(const Value &value);

bool isNull(const ConfigEntry &entry);

bool isEmptyList(const ConfigEntry &entry);

/// The value in JSON syntax.
std::string jsonText(const Value &value);

/// The value in the syntax of `--set`. A fraction stays one, because a program that reads the exported file may tell 3.0 from 3.
std::string settingText(const Value &value);

/// True for texts that a setting can hold as they are: letters, digits, `_` and `-`.
bool isPlainWord(const std::string &text);

/// Equal values; numbers are equal whatever their type.
bool same(const Value &a, const Value &b);

} // namespace npar::dsl
