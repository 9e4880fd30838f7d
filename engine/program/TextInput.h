// Tells which inputs take what files of texts feed.
#pragma once

#include "engine/program/Elements.h"
#include "engine/program/Words.h"

namespace npar::program {

/// True if a feed of this kind fits an input of this type and shape: tokens and what describes them fill one axis after the samples, a
/// class is one integer, and numbers fill at most one axis.
template <typename Shape> bool takesTextFeed(TextFeedKind kind, ElementType type, const Shape &shape) {
  switch (kind) {
  case TextFeedKind::Tokens:
  case TextFeedKind::Segment:
    return isInteger(type) && shape.size() == 2;
  case TextFeedKind::Valid:
    return shape.size() == 2;
  case TextFeedKind::Class:
    return isInteger(type) && shape.size() == 1;
  case TextFeedKind::Number:
    return shape.size() <= 2;
  }
  return false;
}

} // namespace npar::program
