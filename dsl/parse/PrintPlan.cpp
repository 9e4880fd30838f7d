#include "dsl/parse/PrintPlan.h"

#include "dsl/parse/PrintPart.h"

#include <ostream>

namespace npar::dsl {
namespace {

using namespace ast;

class PlanPrinter : private PartPrinter {
public:
  explicit PlanPrinter(std::ostream &out) : PartPrinter(out) {}

  void plan(const Plan &p) {
    head("plan", p.name, p.parameters);
    out << (p.model.text.empty() ? "" : " for ") << p.model.text << " {\n";
    if (!p.mesh.empty()) {
      out << "    mesh ";
      items(p.mesh);
      out << '\n';
    }
    for (const Requirement &r : p.requirements) {
      out << "    ";
      require(*r.condition, r.message);
      out << '\n';
    }
    for (const Setting &s : p.settings)
      if (s.name.text != "compute")
        setting(s);
    if (!p.rules.empty()) {
      out << "    split {\n";
      for (const Rule &r : p.rules) {
        out << "        ";
        rule(r);
        out << '\n';
      }
      out << "    }\n";
    }
    clauses(p);
    out << "}\n";
  }

private:
  /// The clauses after the rules.
  void clauses(const Plan &p) {
    for (const Place &each : p.places) {
      out << "    place" << (each.order.empty() ? "" : " ");
      names(each.order);
      out << (each.inside.empty() ? "" : " inside ");
      names(each.inside);
      out << '\n';
    }
    if (!p.stores.empty()) {
      bool alone = p.stores.size() == 1;
      out << "    store {" << (alone ? " " : "\n");
      for (const StoreRule &r : p.stores) {
        out << (alone ? "" : "        ");
        storeRule(r);
        out << (alone ? " " : "\n");
      }
      out << (alone ? "}\n" : "    }\n");
    }
    for (const Recompute &r : p.recomputes) {
      out << "    recompute " << (r.every ? "every " : r.op ? "op " : "");
      expression(*r.value);
      out << '\n';
    }
    for (const Quantity &b : p.buckets) {
      out << "    bucket ";
      expression(*b.value);
      out << ' ' << b.unit.text << '\n';
    }
    for (const Setting &each : p.expertBuffers) {
      out << "    experts buffer ";
      expression(*each.value);
      out << '\n';
    }
    for (const Quantity &l : p.limits) {
      out << "    require " << l.what.text << " <= ";
      expression(*l.value);
      out << ' ' << l.unit.text << '\n';
    }
    for (const Setting &s : p.settings)
      if (s.name.text == "compute")
        setting(s, p.precisions);
    for (const Keep &k : p.keeps) {
      for (size_t i = 0; i < k.what.size(); ++i)
        out << (i ? ", " : "    keep ") << (k.what[i].layer ? '"' + k.what[i].name.text + '"' : k.what[i].name.text);
      out << " in ";
      expression(*k.type);
      out << '\n';
    }
  }

  void storeRule(const StoreRule &r) {
    names(r.what);
    out << " -> ";
    names(r.mesh);
    if (r.folder)
      out << " \"" << r.folder->text << '"';
    if (r.share)
      out << ' ' << r.share->text;
    if (r.per)
      out << " per " << r.per->text;
    if (r.condition) {
      out << " if ";
      expression(*r.condition);
    }
  }

  /// A pattern of names is a text.
  static std::string leftSide(const RuleAxis &axis) {
    bool isName = axis.name.text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    const std::string name = isName ? axis.name.text : '"' + axis.name.text + '"';
    return axis.modifier.text.empty() ? name : name + ' ' + axis.modifier.text;
  }

  void rule(const Rule &r) {
    for (size_t i = 0; i < r.axes.size(); ++i)
      out << (i ? ", " : "") << leftSide(r.axes[i]);
    out << " -> ";
    names(r.mesh);
    if (r.schedule)
      out << " by " << (r.scheduleIsText ? '"' + r.schedule->text + '"' : r.schedule->text);
    if (r.chunks) {
      out << '(';
      expression(*r.chunks);
      out << ')';
    }
    if (r.live) {
      out << " live ";
      expression(*r.live);
    }
    if (r.stages) {
      out << " stages ";
      expression(*r.stages);
    }
    for (const Narrowing &n : r.narrowings)
      out << (n.layer ? " in layer \"" + n.name.text + '"' : " in op " + n.name.text);
    if (r.condition) {
      out << " if ";
      expression(*r.condition);
    }
  }
};

} // namespace

void printPlan(const ast::Plan &plan, std::ostream &out) { PlanPrinter(out).plan(plan); }

} // namespace npar::dsl
