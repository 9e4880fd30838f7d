// Cuts a stream of tokens into samples.
#include "engine/data/StreamSamples.h"

#include "engine/data/NumberText.h"

#include <algorithm>

namespace npar::engine {

Result<std::unique_ptr<Samples>> StreamSamples::open(const DataPlan &plan, size_t file, const BatchShape &shape) {
  const DataGroup &group = plan.groups[0];
  const DataFile &from = group.files[file];
  Result<std::shared_ptr<TokenFile>> tokens = TokenFile::open(from.path, from.format);
  if (!tokens.ok())
    return tokens.status();
  TokenData data{from.path, plan.mask, *tokens, nullptr, group.feeds};
  if (!plan.mask.empty()) {
    if (const InputShape *ignoring = shape.ignoring(); !ignoring || ignoring->role != program::InputRole::Shifted)
      return Status::badInput("mask '" + plan.mask + "' needs a program that ignores targets");
    Result<std::shared_ptr<MaskFile>> opened = MaskFile::open(plan.mask, (*tokens)->size());
    if (!opened.ok())
      return opened.status();
    data.mask = *opened;
  }
  if (Status status = checkTokenValues(data, shape); !status.ok())
    return status;
  int64_t length = shape.tokensOfSample(), reach = plan.reach();
  if (from.lengths.empty() && (*tokens)->size() < length + reach)
    return Status::badInput("data '" + from.path + "' has " + number((*tokens)->size()) + " tokens; one sample of sequence length " +
                            number(length) + " needs " + number(length + reach));
  int64_t all = std::max<int64_t>(0, (*tokens)->size() - reach) / length;
  Result<std::vector<std::string>> remarks = checkTargets(data, shape, from.lengths.empty() ? all * length + reach : (*tokens)->size());
  if (!remarks.ok())
    return remarks.status();
  SamplePart part(from.lengths.empty() ? all : 0, plan.split, file);
  std::unique_ptr<StreamSamples> result(new StreamSamples(group, std::move(data), shape, std::move(part)));
  result->worthKnowing = std::move(*remarks);
  result->count = result->part.size();
  if (!from.lengths.empty())
    if (Status status = result->readDocuments(from, plan.split, file, reach); !status.ok())
      return status;
  return std::unique_ptr<Samples>(std::move(result));
}

Status StreamSamples::readDocuments(const DataFile &file, const Split &split, uint64_t fileNumber, int64_t reach) {
  for (const DataFeed &feed : feeds)
    if (const InputShape &input = shape.inputs[feed.input]; feed.shift > 0 && !input.ignore)
      return Status::badInput("input '" + input.name +
                              "' needs the following tokens, which are missing at the end of a document: the loss must "
                              "ignore a value of this input, such as ignore = -100");
  Result<std::shared_ptr<TokenFile>> lengths = TokenFile::open(file.lengths, DataFormat::I32);
  if (!lengths.ok())
    return lengths.status();
  std::vector<int64_t> begins{0};
  Status read = forTokenBlocks(**lengths, 0, (*lengths)->size(), [&](int64_t, const std::vector<int32_t> &block) {
    for (int32_t tokens : block) {
      if (tokens < 1)
        return Status::badInput("document " + number(static_cast<int64_t>(begins.size()) - 1) + " of '" + file.lengths +
                                "' has the length " + number(tokens) + ": a document has one token at least");
      begins.push_back(begins.back() + tokens);
    }
    return Status();
  });
  if (!read.ok())
    return read;
  if (begins.back() != data.tokens->size())
    return Status::badInput("the " + number((*lengths)->size()) + " lengths of '" + file.lengths + "' are " + number(begins.back()) +
                            " tokens together, but '" + file.path + "' has " + number(data.tokens->size()));
  SamplePart chosen((*lengths)->size(), split, fileNumber);
  int64_t tooShort = 0;
  count = 0;
  for (int64_t i = 0; i < chosen.size(); ++i) {
    auto document = static_cast<size_t>(chosen(i));
    int64_t begin = begins[document], end = begins[document + 1];
    int64_t here = std::max<int64_t>(0, end - begin - reach + length - 1) / length;
    tooShort += here == 0;
    if (here > 0)
      documents.push_back({begin, end, count});
    count += here;
  }
  if (tooShort)
    worthKnowing.push_back(number(tooShort) + " of " + number(chosen.size()) + " documents of '" + file.path + "' have " + number(reach) +
                           (reach == 1 ? " token" : " tokens") + " or fewer: they have no target and are skipped");
  return {};
}

Status StreamSamples::write(int64_t sample, int64_t, Batch &batch, size_t row) const {
  int64_t begin, end = data.tokens->size();
  if (documents.empty()) {
    begin = part(sample) * length;
  } else {
    auto after = std::upper_bound(documents.begin(), documents.end(), sample,
                                  [](int64_t wanted, const Document &document) { return wanted < document.first; });
    const Document &document = *std::prev(after);
    begin = document.begin + (sample - document.first) * length, end = document.end;
  }
  std::lock_guard<std::mutex> lock(recent->mutex);
  TRY_STATUS(readInto(recent->window, begin, std::max(begin, std::min(end, begin + length + farthest))));
  const TokenWindow &window = recent->window;
  for (const DataFeed &feed : feeds)
    std::visit([&](auto &values) { writeTo(rowOf(values, shape.inputs[feed.input], row), feed, window, begin, end); }, batch[feed.input]);
  return {};
}

/// Samples in their own order are read many at once: of short ones most time goes into calls of the system.
Status StreamSamples::readInto(TokenWindow &window, int64_t begin, int64_t end) const {
  constexpr int64_t block = int64_t{1} << 14;
  auto read = static_cast<int64_t>(window.tokens.size());
  bool inOrder = begin == recent->begin + length;
  recent->begin = begin;
  if (begin >= window.first && end <= window.first + read)
    return {};
  if (inOrder && window.read(data, begin, std::min(data.tokens->size(), std::max(end, begin + block))).ok())
    return {};
  Status status = window.read(data, begin, end);
  if (!status.ok())
    window = {};
  return status;
}

/// The check of values saw that they fit.
template <typename T>
void StreamSamples::writeTo(T *values, const DataFeed &feed, const TokenWindow &window, int64_t begin, int64_t end) const {
  auto ignored = static_cast<T>(shape.inputs[feed.input].ignore.value_or(0)); // the mask is refused where the program ignores none
  for (int64_t i = begin + feed.shift, last = i + length; i < last; ++i, ++values)
    if (feed.valid)
      *values = static_cast<T>(i < end);
    else if (i >= end)
      *values = ignored;
    else
      *values = feed.shift == 0 || window.isTarget(i) ? static_cast<T>(window.at(i)) : ignored;
}

std::string StreamSamples::leftOver() const {
  int64_t left = documents.empty() ? std::max<int64_t>(0, data.tokens->size() - farthest) % length : 0;
  return left == 0 ? ""
                   : "the last " + number(left) + (left == 1 ? " token" : " tokens") + " of '" + data.path + "' make no sample of " +
                         number(length) + " and are skipped";
}

std::string StreamSamples::description() const {
  return "'" + data.path + "' has " + number(count) + (count == 1 ? " sample" : " samples") + " of " + number(length) + " tokens";
}

} // namespace npar::engine
