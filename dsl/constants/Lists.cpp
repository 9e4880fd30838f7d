// Lists of constants: written out, made by a formula of the entry's number, and read by that number.
#include "dsl/constants/Evaluate.h"

namespace npar::dsl {
namespace {

constexpr int64_t longest = 65'536; ///< entries of a list

/// Appends constants of one kind to a list of that kind.
class ListBuilder {
public:
  explicit ListBuilder(Reporter &reporter) : reporter(reporter) {}

  void add(const Value &entry, Location at) {
    if (isNumber(entry))
      numbers.push_back(toDouble(entry));
    else if (auto *text = std::get_if<std::string>(&entry))
      texts.push_back(*text);
    else
      reporter.fail(Code::L13, at, "a list of constants has numbers or texts, this is " + kindOf(entry));
    if (!numbers.empty() && !texts.empty())
      reporter.fail(Code::L13, at, "a list has numbers or texts, not both");
  }

  Value take() { return texts.empty() ? Value(std::move(numbers)) : Value(std::move(texts)); }

private:
  Reporter &reporter;
  NumberList numbers;
  TextList texts;
};

} // namespace

Value Evaluator::constants(const ast::Expression &e, Scope &scope) {
  if (e.items.size() > static_cast<size_t>(longest))
    reporter.fail(Code::L13, e.location, "a list of " + std::to_string(e.items.size()) + " entries, at most " + std::to_string(longest));
  ListBuilder list(reporter);
  for (const ast::ExpressionPtr &item : e.items)
    list.add(constant(item->location, evaluate(*item, scope)), item->location);
  return list.take();
}

Value Evaluator::each(const ast::Expression &e, Scope &scope) {
  int64_t count = integer(*e.items[1], scope, "the number of entries");
  if (count < 0 || count > longest)
    reporter.fail(Code::L13, e.items[1]->location, "a list of " + std::to_string(count) + " entries, at most " + std::to_string(longest));
  ListBuilder list(reporter);
  for (int64_t i = 0; i < count; ++i) {
    Scope inner(&scope);
    inner.bind(e.text, i, e.location);
    list.add(constant(e.items[0]->location, evaluate(*e.items[0], inner)), e.items[0]->location);
  }
  return list.take();
}

Value Evaluator::entry(const Value &list, const ast::Suffix &suffix, Scope &scope) {
  auto *numbers = std::get_if<NumberList>(&list);
  auto *texts = std::get_if<TextList>(&list);
  if (!numbers && !texts)
    reporter.fail(Code::L13, suffix.location, "only a list has entries, this is " + kindOf(list));
  if (suffix.arguments.size() != 1 || !suffix.arguments[0].name.text.empty())
    reporter.fail(Code::L13, suffix.location, "an entry of a list has one number", {"write [0] for the first entry"});
  int64_t index = integer(*suffix.arguments[0].value, scope, "the number of an entry");
  auto size = static_cast<int64_t>(numbers ? numbers->size() : texts->size());
  if (index < 0 || index >= size)
    reporter.fail(Code::L13, suffix.location, "the list has " + std::to_string(size) + " entries, this is number " + std::to_string(index),
                  {"the first entry has the number 0"});
  return numbers ? Value((*numbers)[static_cast<size_t>(index)]) : Value((*texts)[static_cast<size_t>(index)]);
}

} // namespace npar::dsl
