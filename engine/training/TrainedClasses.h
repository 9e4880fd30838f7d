// The class names that a checkpoint keeps of the pictures that it was trained on.
#pragma once

#include "engine/data/ClassNames.h"
#include "engine/status/Status.h"

namespace npar::training {

/// No names for what is no checkpoint, and for one whose data have no names of classes.
engine::ClassNames trainedClasses(const std::string &path);

/// Refuses data that give a class another name than the training did.
engine::Status checkClasses(const std::vector<std::string> &ofData, const engine::ClassNames &trained);

} // namespace npar::training
