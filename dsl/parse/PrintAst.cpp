// The syntax tree as .npar text with fixed indentation and explicit parentheses: it parses to the same tree again.
#include "dsl/parse/PrintPart.h"
#include "dsl/parse/PrintPlan.h"

#include <ostream>

namespace npar::dsl {
namespace {

using namespace ast;

class Printer : private PartPrinter {
public:
  explicit Printer(std::ostream &out) : PartPrinter(out) {}

  void file(const File &f) {
    const char *gap = "";
    for (const Import &i : f.imports) {
      out << "import \"" << i.path << "\"\n";
      gap = "\n";
    }
    auto separate = [&] {
      out << gap;
      gap = "\n";
    };
    for (const Block &b : f.layers)
      separate(), block("layer", b);
    for (const Block &b : f.models)
      separate(), block("model", b);
    for (const Train &t : f.trains)
      separate(), train(t);
    for (const Optimizer &o : f.optimizers)
      separate(), optimizer(o);
    for (const Config &c : f.configs)
      separate(), config(c);
    for (const Family &each : f.families)
      separate(), family(each);
    for (const Plan &p : f.plans)
      separate(), printPlan(p, out);
    for (const Machine &m : f.machines)
      separate(), machine(m);
    for (const Data &d : f.datas)
      separate(), data(d);
  }

  void train(const Train &t) {
    head("train", t.name, t.parameters);
    out << " for " << t.model.text << " {\n";
    for (const Setting &s : t.settings)
      setting(s);
    for (const ParameterRule &rule : t.rules)
      parameterRule(rule);
    out << "}\n";
  }

private:
  void block(const char *word, const Block &b) {
    head(word, b.name, b.parameters);
    body(b.body, 0);
    out << '\n';
  }

  void path(const std::optional<Name> &text) {
    if (text)
      out << " as \"" << text->text << '"';
  }

  void rules(const std::vector<CheckpointRule> &list, int depth) {
    out << "checkpoint {\n";
    for (const CheckpointRule &r : list) {
      out << std::string(4 * depth + 4, ' ') << r.word.text << " \"" << r.text.text << '"';
      if (r.target)
        out << " -> \"" << r.target->text << '"';
      if (r.value) {
        out << " = ";
        expression(*r.value);
      }
      out << '\n';
    }
    out << std::string(4 * depth, ' ') << '}';
  }

  void body(const std::vector<Statement> &statements, int depth) {
    out << " {\n";
    for (const Statement &s : statements) {
      out << std::string(4 * depth + 4, ' ');
      statement(s, depth + 1);
      out << '\n';
    }
    out << std::string(4 * depth, ' ') << '}';
  }

  void statement(const Statement &s, int depth) {
    switch (s.kind) {
    case StatementKind::Axis:
      out << "axis ";
      items(s.items);
      return;
    case StatementKind::Input:
      out << "input ";
      items(s.items);
      out << ": " << s.name.text;
      expression(*s.shape);
      return;
    case StatementKind::Param:
    case StatementKind::State:
      out << (s.kind == StatementKind::Param ? "param " : "state ") << s.name.text;
      path(s.path);
      out << ": ";
      expression(*s.shape);
      out << " = ";
      break;
    case StatementKind::Repeat:
      out << "repeat " << s.name.text << '[' << (s.index ? s.index->text + " in " : "");
      expression(*s.value);
      out << ']';
      path(s.path);
      return body(s.body, depth);
    case StatementKind::If:
      out << "if ";
      expression(*s.value);
      body(s.body, depth);
      if (s.otherwise.empty())
        return;
      out << " else";
      return body(s.otherwise, depth);
    case StatementKind::Checkpoint:
      return rules(s.rules, depth);
    case StatementKind::Under:
      out << "under \"" << s.message << '"';
      return body(s.body, depth);
    case StatementKind::Loss:
      return result("loss", s);
    case StatementKind::Metric:
      return result("metric", s);
    case StatementKind::Output:
      return result("output", s);
    case StatementKind::Update:
      return result("update", s);
    case StatementKind::Log:
      return result("log", s);
    case StatementKind::Require:
      return require(*s.value, s.message);
    case StatementKind::Forward:
      out << "forward(";
      items(s.items);
      out << ')';
      if (!s.value)
        return body(s.body, depth);
      out << " = ";
      break;
    case StatementKind::Return:
      out << "return ";
      break;
    case StatementKind::Assign:
      out << s.name.text;
      path(s.path);
      out << " = ";
    }
    expression(*s.value);
  }

  /// `loss mlm = x weight 0.5 where c`, `metric right = mean(x)`, `output logits`, `update mean = x`
  void result(const char *word, const Statement &s) {
    out << word;
    if (!s.name.text.empty())
      out << ' ' << s.name.text << (s.value ? " =" : "");
    for (auto [before, part] : {std::pair("", &s.value), std::pair(" weight", &s.weight), std::pair(" where", &s.condition)})
      if (*part) {
        out << before << ' ';
        expression(**part);
      }
  }

  void optimizer(const Optimizer &o) {
    head("optimizer", o.name, o.parameters);
    out << " {\n";
    for (const OptimizerState &s : o.states) {
      for (size_t i = 0; i < s.names.size(); ++i) {
        out << (i ? ", " : "    state ") << s.names[i].text;
        path(s.paths[i]);
      }
      if (s.shape) {
        out << ": ";
        expression(*s.shape);
      }
      out << " = ";
      expression(*s.initial);
      out << '\n';
    }
    for (const Requirement &r : o.requirements) {
      out << "    ";
      require(*r.condition, r.message);
      out << '\n';
    }
    for (const OptimizerUpdate &u : o.updates) {
      out << "    update(";
      names(u.values);
      out << ") {\n";
      for (const Item &line : u.lines) {
        out << "        " << line.name.text << " = ";
        expression(*line.value);
        out << '\n';
      }
      out << "    }\n";
    }
    out << "}\n";
  }

  void parameterRule(const ParameterRule &r) {
    out << (r.freeze ? "    freeze" : "    for");
    texts(r.patterns);
    if (!r.except.empty())
      out << " except", texts(r.except);
    if (r.group)
      out << " as \"" << r.group->text << '"';
    if (r.condition) {
      out << " if ";
      expression(*r.condition);
    }
    if (!r.freeze) {
      out << " {";
      for (const GroupChange &change : r.changes) {
        out << ' ' << change.name.text << (change.times ? " * " : " ");
        change.times ? operand(*change.value) : expression(*change.value);
      }
      out << " }";
    }
    out << '\n';
  }

  void texts(const std::vector<Name> &list) {
    for (size_t i = 0; i < list.size(); ++i)
      out << (i ? ", \"" : " \"") << list[i].text << '"';
  }

  void config(const Config &c) {
    out << "config \"" << c.name.text << "\" for " << c.model.text << '(';
    items(c.values);
    out << ")\n";
  }

  void family(const Family &f) {
    out << "family \"" << f.name.text << "\" for " << f.model.text << " {\n";
    for (const FamilyRule &r : f.rules) {
      out << "    " << r.word.text;
      texts(r.keys);
      constants(r.values);
      if (r.value) {
        out << " = ";
        expression(*r.value);
      }
      if (r.otherwise) {
        out << " else ";
        expression(*r.otherwise);
      }
      out << '\n';
    }
    out << "}\n";
  }

  void data(const Data &d) {
    head("data", d.name, d.parameters);
    out << " for " << d.model.text << " {\n";
    for (const DataSource &s : d.sources) {
      for (size_t i = 0; i < s.files.size(); ++i)
        out << (i ? ", " : "    " + s.word.text + " "), dataFile(s.files[i]);
      for (size_t i = 0; i < s.feeds.size(); ++i)
        out << (i ? ", " : " "), dataFeed(s.feeds[i]);
      out << '\n';
    }
    for (const DataSteps &s : d.steps) {
      out << "    " << s.word.text << ": ";
      for (size_t i = 0; i < s.steps.size(); ++i)
        out << (i ? ", " : ""), expression(*s.steps[i]);
      out << '\n';
    }
    for (const DataSplit &s : d.splits) {
      for (size_t i = 0; i < s.shares.size(); ++i)
        out << (i ? ", " : "    split "), expression(*s.shares[i]);
      seeded(s.seed);
    }
    for (const DataOrder &o : d.orders) {
      out << "    " << o.word.text;
      seeded(o.seed);
    }
    for (const Name &last : d.lasts)
      out << "    " << last.text << " last\n";
    out << "}\n";
  }

  void dataFile(const DataFile &f) {
    out << '"' << f.path.text << '"' << (f.format ? " as " + f.format->text : "");
    out << (f.lengths ? " lengths \"" + f.lengths->text + '"' : "");
    if (f.weight) {
      out << " weight ";
      operand(*f.weight);
    }
  }

  void dataFeed(const DataFeed &f) {
    out << f.input.text;
    for (const auto &[word, value] : {std::pair(" = ", &f.value), std::pair(" below ", &f.below)})
      if (*value) {
        out << word;
        expression(**value);
      }
  }

  void seeded(const ExpressionPtr &seed) {
    if (seed) {
      out << " seed ";
      expression(*seed);
    }
    out << '\n';
  }

  void machine(const Machine &m) {
    out << "machine " << m.name.text << " {\n";
    for (const HostKind &k : m.kinds)
      out << "    " << k.hosts.text << ' ' << k.count->text << ' ' << k.of.text << (k.machine ? " \"" + k.machine->text + "\"" : "")
          << '\n';
    for (const FigureGroup &g : m.groups) {
      out << "    " << g.name.text << (g.type ? " " + g.type->text : "") << " {\n";
      for (const Quantity &f : g.figures) {
        out << "        " << f.what.text << ' ';
        expression(*f.value);
        out << ' ' << f.unit.text << '\n';
      }
      out << "    }\n";
    }
    out << "}\n";
  }
};

} // namespace

void print(const ast::File &file, std::ostream &out) { Printer(out).file(file); }

void print(const ast::Plan &plan, std::ostream &out) { printPlan(plan, out); }

void print(const ast::Train &train, std::ostream &out) { Printer(out).train(train); }

} // namespace npar::dsl
