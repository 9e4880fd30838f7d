// The language's table of nodes against the nn dialect, both ways: neither can forget an operation of the other, or an attribute.
#include "compiler/dialects/nn/Nn.h"
#include "dsl/Nodes.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace npar;

namespace {

struct OperationTableTest : testing::Test {
  OperationTableTest() { context.loadDialect<nn::NnDialect>(); }

  /// Returns the diagnostics that the context reports during `run`.
  template <typename Function> std::string reports(Function run) {
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { said += diagnostic.str() + "\n"; });
    run();
    return said;
  }

  /// Some attribute of the kind that the table gives.
  Attribute sample(dsl::AttributeKind kind) {
    Builder builder(&context);
    switch (kind) {
    case dsl::AttributeKind::Truth:
      return builder.getBoolAttr(true);
    case dsl::AttributeKind::Integer:
      return builder.getI64IntegerAttr(1);
    case dsl::AttributeKind::Number:
      return builder.getF64FloatAttr(0.5);
    case dsl::AttributeKind::Numbers:
      return builder.getDenseF64ArrayAttr({0.5});
    case dsl::AttributeKind::Text:
      return builder.getStringAttr("x");
    case dsl::AttributeKind::Integers:
      return builder.getDenseI64ArrayAttr({1});
    case dsl::AttributeKind::Texts:
      return builder.getStrArrayAttr({"x"});
    }
    return {};
  }

  NamedAttrList samples(const dsl::NodeKind &kind) {
    NamedAttrList result;
    for (const dsl::NodeAttribute &attribute : kind.attributes)
      if (!attribute.optional)
        result.append(attribute.name, sample(attribute.kind));
    return result;
  }

  template <template <typename> class... Traits> static int countBy(OperationName name, int first) {
    int count = -2, next = first;
    ((name.hasTrait<Traits>() ? void(count = next) : void(), ++next), ...);
    return count;
  }
  /// The number of operands that the op declares; `anyNumber` for lists.
  static int operandCount(OperationName name) {
    if (name.hasTrait<OpTrait::VariadicOperands>() || name.hasTrait<OpTrait::AtLeastNOperands<3>::Impl>())
      return dsl::NodeKind::anyNumber;
    return countBy<OpTrait::ZeroOperands, OpTrait::OneOperand, OpTrait::NOperands<2>::Impl, OpTrait::NOperands<3>::Impl,
                   OpTrait::NOperands<4>::Impl>(name, 0);
  }
  static int resultCount(OperationName name) {
    return countBy<OpTrait::OneResult, OpTrait::NResults<2>::Impl, OpTrait::NResults<3>::Impl>(name, 1);
  }

  MLIRContext context;
};

TEST_F(OperationTableTest, EveryKindOfNodeIsAnOpOfTheLanguage) {
  for (const dsl::NodeKind &kind : dsl::nodeKinds()) {
    OperationName name("nn." + kind.name, &context);
    ASSERT_TRUE(name.isRegistered()) << kind.name << ": in the table of dsl/elaborate, but no op";
    EXPECT_TRUE(name.hasInterface<nn::LanguageOpInterface>())
        << kind.name << ": in the table of dsl/elaborate, but its .td has no Nn_Language";
    if (kind.name != "rename") { // placing adds ends of rows to its operand
      EXPECT_EQ(kind.operands, operandCount(name)) << kind.name << ": operands";
    }
    auto *precision = name.getInterface<nn::PrecisionOpInterface>();
    // An attention's own softmax is in f32 whatever is kept: there the word is for the language alone.
    if (kind.name != "attention") {
      EXPECT_EQ(kind.keep, precision ? precision->getKeepWord().str() : "") << kind.name << ": the word of 'keep'";
    }
  }
}

TEST_F(OperationTableTest, EveryOpOfTheLanguageIsAKindOfNode) {
  int count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<nn::LanguageOpInterface>()) {
      EXPECT_TRUE(dsl::findNodeKind(name.stripDialect().str()))
          << name.getStringRef().str() << ": Nn_Language, but in no table of dsl/elaborate";
      ++count;
    }
  EXPECT_EQ(count, static_cast<int>(dsl::nodeKinds().size()));
}

TEST_F(OperationTableTest, AttributesHaveTheOpsNamesAndTypes) {
  for (const dsl::NodeKind &kind : dsl::nodeKinds()) {
    RegisteredOperationName name = *RegisteredOperationName::lookup("nn." + kind.name, &context);
    for (const dsl::NodeAttribute &attribute : kind.attributes) {
      EXPECT_TRUE(llvm::any_of(name.getAttributeNames(), [&](StringAttr each) { return each == attribute.name; }))
          << kind.name << " has no attribute '" << attribute.name << "'";
      NamedAttrList list;
      list.append(attribute.name, sample(attribute.kind));
      std::string said = reports([&] { (void)name.verifyInherentAttrs(list, [&] { return emitError(UnknownLoc::get(&context)); }); });
      EXPECT_EQ(said, "") << kind.name << ": '" << attribute.name << "'";
    }
  }
}

TEST_F(OperationTableTest, NoAttributeThatAnOpNeedsIsLeftOut) {
  for (const dsl::NodeKind &kind : dsl::nodeKinds()) {
    OperationState state(UnknownLoc::get(&context), "nn." + kind.name);
    Type type = nn::scalarOf(Float32Type::get(&context));
    OwningOpRef<Operation *> source = Operation::create([&] {
      OperationState fill(UnknownLoc::get(&context), "nn.fill");
      fill.addAttribute("value", FloatAttr::get(Float64Type::get(&context), 0));
      fill.addTypes(type);
      return fill;
    }());
    for (int i = 0; i < std::max(1, kind.operands) && kind.operands != 0; ++i)
      state.addOperands((*source)->getResult(0));
    state.addTypes(SmallVector<Type>(resultCount(state.name), type));
    state.attributes = samples(kind);
    // Whatever else is wrong with such an op, no attribute is missing.
    std::string said = reports([&] {
      Operation *op = Operation::create(state);
      (void)verify(op);
      op->destroy();
    });
    EXPECT_EQ(said.find("requires attribute"), std::string::npos) << kind.name << ": " << said;
  }
}

} // namespace
