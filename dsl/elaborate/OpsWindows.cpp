// Windows that walk an axis, which products make convolutions of and reductions pooling, and the number of their positions.
#include "dsl/elaborate/Operation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

namespace npar::dsl {
namespace {

constexpr int64_t mostSteps = 1 << 20;     ///< of a stride, a dilation, a spread or a padding
constexpr int64_t mostEntries = INT32_MAX; ///< of an axis

/// Windows of `kernel` entries that walk an axis. Window `o` has the entries (o * stride + k * dilation - before) / spread of the axis.
/// `before` and `after` count entries of padding.
struct Walk {
  int64_t size, kernel, stride, dilation, spread, before = 0, after = 0;
  bool ceil;

  int64_t spreadSize() const { return (size - 1) * spread + 1; }
  int64_t padded() const { return spreadSize() + before + after; }
  int64_t span() const { return std::abs(dilation) * (kernel - 1) + 1; }
  /// The number of windows. With `ceil` a last one may begin inside the axis or its first padding and end beyond the padding.
  int64_t positions() const {
    int64_t free = padded() - span();
    int64_t count = (free + (ceil ? stride - 1 : 0)) / stride + 1;
    return ceil && (count - 1) * stride >= spreadSize() + before ? count - 1 : count;
  }
  /// The position of a window without entries of the axis.
  std::optional<int64_t> empty() const {
    // Entry k of the window at n is one of the axis if `spread` divides n + k * step: k depends on n's remainder, and repeats.
    const int64_t step = std::abs(dilation), period = spread / std::gcd(step, spread), count = positions();
    std::vector<int64_t> firstOf(static_cast<size_t>(spread), kernel); // by the remainder of -n
    for (int64_t k = std::min(period, kernel) - 1; k >= 0; --k)
      firstOf[static_cast<size_t>(k * step % spread)] = k;
    const int64_t allInside = before <= 0 ? 0 : (before + stride - 1) / stride, repeats = allInside + spread;
    const int64_t endsOutside = (spreadSize() - span() + before) / stride;
    for (int64_t o = 0; o < count; ++o) {
      if (o == repeats && endsOutside > repeats)
        o = std::min(endsOutside, count - 1);
      const int64_t n = o * stride - before, missing = n < 0 ? (step - 1 - n) / step : 0;
      int64_t k = firstOf[static_cast<size_t>(((-n) % spread + spread) % spread)];
      if (k < missing)
        k += (missing - k + period - 1) / period * period;
      if (k >= kernel || n + k * step >= spreadSize())
        return o;
    }
    return std::nullopt;
  }
  /// "8 entries and a padding of 1 + 1, windows that span 3, stride 2"
  std::string text() const {
    std::string entries = std::to_string(size) + (size == 1 ? " entry" : " entries");
    if (spread != 1)
      entries += ", spread to " + std::to_string(spreadSize()) + ",";
    return entries + " and a padding of " + std::to_string(before) + " + " + std::to_string(after) + ", windows that span " +
           std::to_string(span()) + ", stride " + std::to_string(stride) + (ceil ? ", rounded up" : "");
  }
};

/// The places of a walk's arguments among the formals.
struct WalkFormals {
  size_t stride, dilation, padding, spread, ceil;
};

int64_t whole(OperationCall &call, size_t i, const char *what, int64_t least, int64_t fallback, int64_t most = mostSteps) {
  if (!call.has(i))
    return fallback;
  Value value = call.elaborator.constant(call.place(i), call.value(i));
  auto *number = std::get_if<int64_t>(&value);
  if (!number)
    call.reporter.fail(Code::A9, call.place(i),
                       std::string(what) + " of '" + call.name + "' must be an integer, this is " +
                           (isNumber(value) ? textOf(value) : kindOf(value)));
  if (*number < least || *number > most)
    call.reporter.fail(Code::A9, call.place(i),
                       std::string(what) + " of '" + call.name + "' is " + std::to_string(*number) + ", it must be " +
                           std::to_string(least) + " to " + std::to_string(most));
  return *number;
}

/// `padding = 1`, `[before, after]`, or the rule of a library by name.
void readPadding(OperationCall &call, size_t i, Walk &walk) {
  if (!call.has(i))
    return;
  Value value = call.elaborator.constant(call.place(i), call.value(i));
  if (std::holds_alternative<int64_t>(value)) {
    walk.before = walk.after = whole(call, i, "the padding", -mostSteps, 0);
    return;
  }
  if (auto *word = std::get_if<std::string>(&value)) {
    int64_t total = walk.span() - 1;
    if (*word == "same_tensorflow") {
      int64_t count = (walk.spreadSize() + walk.stride - 1) / walk.stride;
      total = std::max<int64_t>(0, (count - 1) * walk.stride + walk.span() - walk.spreadSize());
    } else if (*word != "same_pytorch") {
      call.reporter.fail(Code::A9, call.place(i), "unknown padding " + textOf(value) + " of '" + call.name + "'",
                         {"write \"same_pytorch\" or \"same_tensorflow\", which differ for a stride above 1",
                          "a number pads both ends, [before, after] each end by its own number"});
    } else if (walk.stride != 1) {
      call.reporter.fail(Code::A9, call.place(i), "\"same_pytorch\" needs the stride 1, it is " + std::to_string(walk.stride),
                         {"write the padding as numbers, or \"same_tensorflow\""});
    }
    walk.before = total / 2;
    walk.after = total - walk.before;
    return;
  }
  auto *list = std::get_if<NumberList>(&value);
  if (!list || list->size() != 2)
    call.reporter.fail(Code::A9, call.place(i),
                       "the padding of '" + call.name + "' must be an integer, [before, after] or a word, this is " +
                           (list ? textOf(value) : kindOf(value)));
  for (double each : *list)
    if (each != std::floor(each) || std::fabs(each) > static_cast<double>(mostSteps))
      call.reporter.fail(Code::A9, call.place(i),
                         "the padding of '" + call.name + "' must be integers of at most " + std::to_string(mostSteps) + ", this is " +
                             textOf(value));
  walk.before = static_cast<int64_t>((*list)[0]);
  walk.after = static_cast<int64_t>((*list)[1]);
}

/// `what`: the axis or the size that is walked.
Walk readWalk(OperationCall &call, int64_t size, int64_t kernel, const std::string &what, const WalkFormals &formals) {
  Walk walk{};
  walk.size = size;
  walk.kernel = kernel;
  walk.stride = whole(call, formals.stride, "the stride", 1, 1);
  walk.dilation = whole(call, formals.dilation, "the dilation", -mostSteps, 1);
  if (walk.dilation == 0)
    call.reporter.fail(Code::A9, call.place(formals.dilation), "the dilation of '" + call.name + "' is 0",
                       {"1 is a window of neighbors, -1 the same in reverse order"});
  walk.spread = whole(call, formals.spread, "the spread", 1, 1);
  walk.ceil = call.truth(formals.ceil);
  readPadding(call, formals.padding, walk);
  if (walk.padded() < walk.span())
    call.reporter.fail(Code::A9, call.at,
                       "a window spans " + std::to_string(walk.span()) + " entries, " + what + " has " + std::to_string(walk.padded()) +
                           " with its padding: " + std::to_string(walk.spreadSize()) + " + " + std::to_string(walk.before) + " + " +
                           std::to_string(walk.after),
                       {"make the window smaller or the padding larger"});
  return walk;
}

/// The value of entries outside of the axis.
double fillOf(OperationCall &call, size_t i, bool floats) {
  if (!call.has(i))
    return 0;
  Value value = call.elaborator.constant(call.place(i), call.value(i));
  auto *word = std::get_if<std::string>(&value);
  if (word && *word == "-inf" && floats)
    return -HUGE_VAL;
  if (!isNumber(value) || (!floats && (!std::holds_alternative<int64_t>(value) || std::abs(toDouble(value)) > INT32_MAX)))
    call.reporter.fail(Code::A9, call.place(i),
                       std::string("the fill of 'windows' must be ") + (floats ? "a number or \"-inf\"" : "an integer of 32 bits") +
                           ", this is " + (word || isNumber(value) ? textOf(value) : kindOf(value)));
  return floats ? call.number(i) : toDouble(value);
}

template <typename T> std::vector<T> &listIn(std::map<std::string, Attribute> &attributes, const char *name) {
  return std::get<std::vector<T>>(attributes.at(name));
}

/// x[(o * stride + k * dilation - before) / spread] over the axes `by` (of k) and `to` (of o) in the place of `over`. Windows of windows
/// along another axis are one operation.
Value windows(OperationCall &call) {
  int x = call.tensor(0);
  const std::string over = call.axis(1), to = call.axis(2), by = call.axis(3);
  call.requireAxis(1, over, x, "the operand");
  if (call.graph.isTruth(x))
    call.reporter.fail(Code::A9, call.place(0),
                       "argument 'x' of 'windows' must be a tensor of numbers, this is " + describedTensor(call.graph, x),
                       {"write int(x), or float(x)"});
  for (auto [i, axis] : {std::pair<size_t, const std::string &>(2, to), std::pair<size_t, const std::string &>(3, by)}) {
    call.refuseBatch(i, axis);
    if (contains(call.axesOf(x), axis))
      call.reporter.fail(Code::A9, call.place(i),
                         "the operand of 'windows' has the axis '" + axis + "' already: " + textOf(call.axesOf(x)));
  }
  if (to == by)
    call.reporter.fail(Code::A9, call.place(3),
                       "'windows' needs two axes, one for positions and one inside of a window: both are '" + to + "'");
  const Walk walk = readWalk(call, call.graph.size(over), call.graph.size(by), "'" + over + "'", {4, 5, 6, 7, 9});
  if (walk.positions() != call.graph.size(to))
    call.reporter.fail(
        Code::A9, call.place(2),
        "axis '" + to + "' has size " + std::to_string(call.graph.size(to)) + ", these windows have " + std::to_string(walk.positions()) +
            (walk.positions() == 1 ? " position: " : " positions: ") + walk.text(),
        {"window_count(" + call.nameOf(over) + ", " + call.nameOf(by) + ", ...) computes the size for the axis's declaration"});
  const double fill = fillOf(call, 8, call.graph.isFloat(x));
  const std::optional<int64_t> empty = std::isinf(fill) ? walk.empty() : std::nullopt;
  if (empty)
    call.reporter.fail(Code::A9, call.place(6),
                       "the window at position " + std::to_string(*empty) + " of '" + to + "' is all padding" +
                           (walk.spread == 1 ? "" : " and gaps") + ", which is \"-inf\": " + walk.text(),
                       {walk.spread == 1 ? "make the padding at most half of the window"
                                         : "make the window larger, or the padding or the spread smaller"});
  TensorType type = call.graph.type(x);
  auto place = std::find(type.axes.begin(), type.axes.end(), over);
  *place = to;
  type.axes.insert(place, by);
  std::map<std::string, Attribute> attributes{{"over", AxisNames{}},
                                              {"to", AxisNames{}},
                                              {"by", AxisNames{}},
                                              {"stride", std::vector<int64_t>{}},
                                              {"dilation", std::vector<int64_t>{}},
                                              {"before", std::vector<int64_t>{}},
                                              {"spread", std::vector<int64_t>{}},
                                              {"fill", fill}};
  int operand = x;
  auto joins = [&](const Node &inner) {
    if (inner.op != "windows" || std::get<double>(inner.attributes.at("fill")) != fill)
      return false;
    const AxisNames &axes = call.axesOf(inner.operands[0]); // among them the one that the inner windows replace
    return contains(axes, over) && !contains(axes, to) && !contains(axes, by);
  };
  if (const Node &inner = call.graph.model.nodes[static_cast<size_t>(x)]; joins(inner)) {
    operand = inner.operands[0];
    attributes = inner.attributes;
  }
  listIn<std::string>(attributes, "over").push_back(over);
  listIn<std::string>(attributes, "to").push_back(to);
  listIn<std::string>(attributes, "by").push_back(by);
  listIn<int64_t>(attributes, "stride").push_back(walk.stride);
  listIn<int64_t>(attributes, "dilation").push_back(walk.dilation);
  // A window in reverse order begins with its last entry.
  listIn<int64_t>(attributes, "before").push_back(walk.before + std::min<int64_t>(0, walk.dilation) * (walk.kernel - 1));
  listIn<int64_t>(attributes, "spread").push_back(walk.spread);
  return TensorValue{call.graph.add(call.at, "windows", {operand}, std::move(type), std::move(attributes))};
}

/// The number of positions that `windows` has, to declare an axis with.
Value windowCount(OperationCall &call) {
  int64_t size = whole(call, 0, "the size", 1, 1, mostEntries), kernel = whole(call, 1, "the window", 1, 1, mostEntries);
  return readWalk(call, size, kernel, "the axis", {2, 3, 4, 5, 6}).positions();
}

} // namespace

std::vector<Operation> windowOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const OperationFormal stride{"stride", Formal::Any, true}, dilation{"dilation", Formal::Any, true}, padding{"padding", Formal::Any, true},
      spread{"spread", Formal::Any, true}, ceil{"ceil", Formal::Truth, 0.0};
  return {
      {"windows",
       {{"x", Formal::Tensor},
        {"over", Formal::Axis},
        {"to", Formal::Axis},
        {"by", Formal::Axis},
        stride,
        dilation,
        padding,
        spread,
        {"fill", Formal::Any, true},
        ceil},
       windows,
       {{"windows",
         1,
         {{"over", Kind::Texts},
          {"to", Kind::Texts},
          {"by", Kind::Texts},
          {"stride", Kind::Integers},
          {"dilation", Kind::Integers},
          {"before", Kind::Integers},
          {"spread", Kind::Integers},
          {"fill", Kind::Number}}}}},
      {"window_count", {{"size", Formal::Any}, {"window", Formal::Any}, stride, dilation, padding, spread, ceil}, windowCount, {}},
  };
}

} // namespace npar::dsl
