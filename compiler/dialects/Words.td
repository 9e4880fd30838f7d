// Attributes with values of the seam's enumerations. They are written as the words of engine/program/Words.h, so that no dialect needs an
// enumeration of its own.
#ifndef NPAR_COMPILER_DIALECTS_WORDS_TD
#define NPAR_COMPILER_DIALECTS_WORDS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

/// A parameter of an attribute: `Npar_Word<"Phase">:$phase` is a program::Phase.
class Npar_Word<string enumeration> : AttrParameter<"::npar::program::" # enumeration, "one of the seam's " # enumeration> {
  let parser = "::npar::compiler::parseWord<::npar::program::" # enumeration # ">($_parser)";
  let printer = "$_printer << ::npar::program::wordOf($_self)";
}

/// An attribute that is one word; operations get and are built with the value itself.
class Npar_WordAttr<Dialect dialect, string className, string enumeration, string attrMnemonic> : AttrDef<dialect, className> {
  let mnemonic = attrMnemonic;
  let parameters = (ins Npar_Word<enumeration>:$value);
  let returnType = "::npar::program::" # enumeration;
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = cppNamespace # "::" # cppClassName # "::get($_builder.getContext(), $0)";
}

#endif
