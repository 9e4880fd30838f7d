// Tells which files of a data block have texts, and which inputs take them.
#pragma once

#include "engine/program/Elements.h"

namespace npar::program {

/// True if files of this format have rows with texts.
inline bool hasTexts(DataFormat format) {
  return format == DataFormat::Csv || format == DataFormat::Tsv || format == DataFormat::JsonLines || format == DataFormat::Lines;
}

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
