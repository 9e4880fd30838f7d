// Checks a token file against a program before training: every value, as a token and as a target.
#include "engine/data/DataCheck.h"

#include "engine/data/NumberText.h"

#include <algorithm>

namespace npar::engine {

namespace {

class DataCheck {
public:
  DataCheck(const TokenData &data, const BatchShape &shape)
      : data(data), shape(shape), length(shape.tokensOfSample()), size(data.tokens->size()) {
    for (const DataFeed &feed : data.feeds)
      if (!feed.valid)
        feeds.push_back({&shape.inputs[feed.input], feed.shift});
    if (const InputShape *ignoring = shape.ignoring())
      ignore = ignoring->ignore;
  }

  Status checkValues() const {
    return looksAtValues() ? forEach(0, size, [this](const TokenWindow &window, int64_t i) { return checkValue(window, i); }) : Status();
  }

  /// Checks the tokens that some sample has as targets, which are those from 1 on.
  Result<std::vector<std::string>> checkTargets(int64_t last) const {
    if (!data.mask && !isPossible(ignore))
      return std::vector<std::string>();
    int64_t counting = 0, ignored = 0;
    Status read = forEach(1, last, [&](const TokenWindow &window, int64_t i) {
      if (window.isTarget(i))
        ++(ignore && window.at(i) == *ignore ? ignored : counting);
      return Status();
    });
    if (!read.ok())
      return read;
    if (counting == 0)
      return Status::badInput(
          data.mask
              ? "mask '" + data.maskPath + "' marks no token of '" + data.path + "' as a target: there is nothing to train on"
              : "all targets of '" + data.path + "' is " + number(*ignore) + ", which the model ignores: there is nothing to train on");
    std::vector<std::string> remarks;
    if (ignored > 0)
      remarks.push_back("the model ignores targets of value " + number(*ignore) + ": " + number(ignored) + " of " +
                        number(ignored + counting) + " in '" + data.path + "'");
    return remarks;
  }

private:
  struct Feed {
    const InputShape *input;
    int64_t shift;
  };

  /// Calls `use(window, i)` for the tokens [begin, end) until one is not good.
  template <typename Use> Status forEach(int64_t begin, int64_t end, Use use) const {
    TokenWindow window;
    for (int64_t first = begin; first < end; first += tokenBlock) {
      int64_t after = std::min(end, first + tokenBlock);
      if (Status status = window.read(data, first, after); !status.ok())
        return status;
      for (int64_t i = first; i < after; ++i)
        if (Status status = use(window, i); !status.ok())
          return status;
    }
    return {};
  }

  /// "sample 3 of 'x.bin' has target 104 at position 17"; sample and position as the program sees them.
  std::string found(const char *what, int64_t index, int32_t value) const {
    return "sample " + number(index / length) + " of '" + data.path + "' has " + what + " " + number(value) + " at position " +
           number(index % length);
  }

  /// False if every value that the file's format can hold is valid, so values need no check.
  bool looksAtValues() const {
    bool takesAll = std::all_of(feeds.begin(), feeds.end(), [&](const Feed &feed) {
      return feed.input->has(data.tokens->least()) && feed.input->has(data.tokens->largest());
    });
    return !takesAll || data.mask || isPossible(ignore);
  }
  bool isPossible(std::optional<int32_t> value) const {
    return value && *value >= data.tokens->least() && *value <= data.tokens->largest();
  }

  Status checkValue(const TokenWindow &window, int64_t i) const {
    int32_t value = window.at(i);
    for (const Feed &feed : feeds)
      if (Status status = feed.shift == 0 ? checkToken(*feed.input, i, value) : checkTarget(feed, window, i); !status.ok())
        return status;
    return {};
  }

  Status checkToken(const InputShape &input, int64_t i, int32_t value) const {
    return input.takes(value) ? Status() : misfit("token", i, value, input);
  }

  Status checkTarget(const Feed &feed, const TokenWindow &window, int64_t i) const {
    if (i < feed.shift || !window.isTarget(i))
      return {};
    const InputShape &input = *feed.input;
    int32_t value = window.at(i);
    if (input.ignore && value == *input.ignore) {
      if (data.mask && input.has(value))
        return Status::badInput(found("target", i - feed.shift, value) + ", which the mask '" + data.maskPath +
                                "' counts, but the model ignores " + number(value) +
                                ": ignore a number that is not a class, such as ignore = -100");
      return {};
    }
    return input.has(value) ? Status() : misfit("target", i - feed.shift, value, input);
  }

  Status misfit(const char *what, int64_t index, int32_t value, const InputShape &input) const {
    std::string text = found(what, index, value) + ", but " + input.rangeText();
    if (data.tokens->format() == TokenFormat::Bytes)
      text += "; to accept every byte it needs 256";
    return Status::badInput(text);
  }

  const TokenData &data;
  const BatchShape &shape;
  std::vector<Feed> feeds;
  int64_t length, size; ///< tokens of a sample; tokens of the file
  std::optional<int32_t> ignore;
};

} // namespace

Status TokenWindow::read(const TokenData &data, int64_t from, int64_t to) {
  first = from;
  tokens.resize(static_cast<size_t>(to - from));
  masked.resize(data.mask ? tokens.size() : 0);
  Status status = data.tokens->read(from, to - from, tokens.data());
  return status.ok() && data.mask ? data.mask->read(from, to - from, masked.data()) : status;
}

Status checkTokenValues(const TokenData &data, const BatchShape &shape) { return DataCheck(data, shape).checkValues(); }

Result<std::vector<std::string>> checkTargets(const TokenData &data, const BatchShape &shape, int64_t tokens) {
  return DataCheck(data, shape).checkTargets(tokens);
}

} // namespace npar::engine
