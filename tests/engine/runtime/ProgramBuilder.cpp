// Small compiled programs written by hand, for tests that need no compiler.
#include "tests/engine/runtime/ProgramBuilder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace npar::testing {

using namespace program;

ProgramBuilder::ProgramBuilder(std::vector<std::pair<std::string, uint32_t>> mesh) {
  for (auto &[name, size] : mesh) {
    auto axis = std::make_unique<MeshAxisT>();
    axis->name = name, axis->size = size;
    program.mesh.push_back(std::move(axis));
  }
  program.model = "Test", program.plan = "by hand", program.train = "base";
  program.batch = program.micro = program.micro_count = 1;
  program.stages = 1;
}

uint32_t ProgramBuilder::variable(const std::string &name, VariableKind kind, ElementType type, std::vector<int64_t> shape, int32_t of) {
  auto variable = std::make_unique<VariableT>();
  variable->name = name, variable->kind = kind, variable->type = type, variable->shape = shape, variable->stored = shape, variable->of = of;
  for (size_t i = 0; i < shape.size(); ++i)
    variable->axes.push_back("a" + std::to_string(i));
  variable->init = kind == VariableKind::Parameter ? InitKind::Normal : InitKind::Zeros;
  variable->deviation = 1;
  program.variables.push_back(std::move(variable));
  return static_cast<uint32_t>(program.variables.size() - 1);
}

uint32_t ProgramBuilder::kernel(const std::string &symbol, int64_t extent) {
  auto kernel = std::make_unique<KernelT>();
  kernel->symbol = symbol, kernel->extent = extent, kernel->flops = 0;
  program.kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(program.kernels.size() - 1);
}

uint32_t ProgramBuilder::collective(CollectiveKind kind, ElementType type, std::vector<uint32_t> axes, uint32_t event, uint64_t count,
                                    ReduceOp op) {
  auto collective = std::make_unique<CollectiveT>();
  collective->kind = kind, collective->type = type, collective->axes = axes, collective->event = event, collective->count = count;
  collective->op = op, collective->outer = 1, collective->split = static_cast<int64_t>(count), collective->inner = 1;
  program.collectives.push_back(std::move(collective));
  return static_cast<uint32_t>(program.collectives.size() - 1);
}

uint32_t ProgramBuilder::transfer(uint32_t axis, uint32_t peer, uint32_t event, uint64_t count) {
  auto transfer = std::make_unique<TransferT>();
  transfer->axis = axis, transfer->peer = peer, transfer->event = event, transfer->type = ElementType::F32, transfer->count = count;
  program.transfers.push_back(std::move(transfer));
  return static_cast<uint32_t>(program.transfers.size() - 1);
}

ClassBuilder &ProgramBuilder::rankClass(const std::string &name, std::vector<std::pair<uint32_t, uint32_t>> fixed) {
  auto content = std::make_unique<RankClassT>();
  content->name = name;
  for (auto &[axis, value] : fixed)
    content->fixed.emplace_back(std::make_unique<CoordinateT>())->axis = axis, content->fixed.back()->value = value;
  auto region = std::make_unique<RegionT>();
  region->name = "static", region->bytes = 0, region->slots = 1, region->offset = 0;
  content->regions.push_back(std::move(region));
  program.classes.push_back(std::move(content));
  classes.push_back(std::make_unique<ClassBuilder>(*this, *program.classes.back()));
  return *classes.back();
}

uint32_t ProgramBuilder::label(const std::string &text) {
  auto label = std::make_unique<LabelT>();
  label->text = text, label->path = "test";
  label->source = std::make_unique<SourcePlaceT>();
  label->source->file = "hand.npar", label->source->line = static_cast<uint32_t>(program.labels.size() + 1), label->source->column = 5;
  program.labels.push_back(std::move(label));
  return static_cast<uint32_t>(program.labels.size() - 1);
}

void ProgramBuilder::useTestKernels() {
  std::ifstream file(NPAR_TEST_KERNELS, std::ios::binary);
  auto &code = program.codes.emplace_back(std::make_unique<DeviceCodeT>());
  code->backend = "cpu";
  code->object.assign(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(code->object.empty()) << NPAR_TEST_KERNELS;
}

std::vector<uint8_t> ProgramBuilder::bytes() {
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &program));
  return sealProgram(builder.GetBufferPointer(), builder.GetSize());
}

std::shared_ptr<const LoadedProgram> ProgramBuilder::load() {
  auto loaded = LoadedProgram::fromBytes(bytes(), "hand.npx");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : nullptr;
}

Span ClassBuilder::fixed(uint64_t bytes) {
  RegionT &region = *content.regions[0];
  Span span{0, region.bytes, bytes};
  region.bytes += (bytes + 63) / 64 * 64;
  content.arena_bytes = region.bytes;
  return span;
}

Span ClassBuilder::perMicro(const std::string &name, uint64_t bytes) {
  auto region = std::make_unique<RegionT>();
  region->name = name, region->bytes = (bytes + 63) / 64 * 64, region->slots = static_cast<uint32_t>(owner.program.micro_count);
  region->offset = content.arena_bytes;
  content.arena_bytes += region->bytes * region->slots;
  content.regions.push_back(std::move(region));
  return {static_cast<uint32_t>(content.regions.size() - 1), 0, bytes};
}

void ClassBuilder::piece(uint32_t variable, Span where, std::vector<int64_t> global, std::vector<int64_t> local,
                         std::vector<std::vector<uint32_t>> axes, bool isOwner) {
  auto piece = std::make_unique<PieceT>();
  piece->variable = variable, piece->offset = where.offset, piece->bytes = where.bytes, piece->owner = isOwner;
  for (size_t i = 0; i < global.size(); ++i) {
    piece->dimensions.emplace_back(global[i], local[i], static_cast<uint32_t>(piece->mesh_axes.size()),
                                   static_cast<uint32_t>(axes[i].size()));
    piece->mesh_axes.insert(piece->mesh_axes.end(), axes[i].begin(), axes[i].end());
  }
  content.pieces.push_back(std::move(piece));
}

uint32_t ClassBuilder::fragment(const std::string &name, Phase phase) {
  auto fragment = std::make_unique<FragmentT>();
  fragment->name = name, fragment->phase = phase;
  content.fragments.push_back(std::move(fragment));
  return static_cast<uint32_t>(content.fragments.size() - 1);
}

uint32_t ClassBuilder::step(StepKind kind, uint32_t payload, std::vector<Span> inputs, std::vector<Span> outputs,
                            std::vector<uint32_t> dependencies, const std::string &label, double seconds) {
  FragmentT &fragment = *content.fragments.back();
  double begin = fragment.steps.empty() ? 0 : fragment.steps.back().end();
  fragment.steps.emplace_back(kind, uint8_t{0}, static_cast<uint16_t>(inputs.size()), static_cast<uint16_t>(outputs.size()), uint16_t{0},
                              static_cast<uint32_t>(fragment.operands.size()), payload, static_cast<uint32_t>(fragment.dependencies.size()),
                              static_cast<uint32_t>(dependencies.size()), owner.label(label), 0.0, begin, begin + seconds);
  for (const auto *list : {&inputs, &outputs})
    for (const Span &span : *list)
      fragment.operands.emplace_back(span.region, 0u, span.offset, span.bytes);
  fragment.dependencies.insert(fragment.dependencies.end(), dependencies.begin(), dependencies.end());
  return static_cast<uint32_t>(fragment.steps.size() - 1);
}

InputT &ClassBuilder::input(const std::string &name, Span where, std::vector<int64_t> global, std::vector<int64_t> local,
                            std::vector<std::vector<uint32_t>> axes, ElementType type, ElementType kept) {
  auto input = std::make_unique<InputT>();
  input->region = where.region, input->offset = where.offset, input->type = kept;
  for (size_t i = 0; i < global.size(); ++i) {
    input->dimensions.emplace_back(global[i], local[i], static_cast<uint32_t>(input->mesh_axes.size()),
                                   static_cast<uint32_t>(axes[i].size()));
    input->mesh_axes.insert(input->mesh_axes.end(), axes[i].begin(), axes[i].end());
    input->zigzag.push_back(0);
  }
  auto &inputs = owner.program.inputs;
  while (input->input < inputs.size() && inputs[input->input]->name != name)
    ++input->input;
  if (input->input == inputs.size()) {
    inputs.push_back(std::make_unique<LogicalInputT>());
    inputs.back()->name = name, inputs.back()->type = type, inputs.back()->shape = global;
    inputs.back()->shape[0] *= owner.program.micro_count;
    for (size_t i = 0; i < global.size(); ++i)
      inputs.back()->axes.push_back(i ? "a" + std::to_string(i) : "batch");
  }
  content.inputs.push_back(std::move(input));
  return *content.inputs.back();
}

void ClassBuilder::output(const std::string &name, Span where) {
  auto output = std::make_unique<OutputT>();
  output->name = name, output->offset = where.offset;
  content.outputs.push_back(std::move(output));
}

uint32_t ClassBuilder::task(uint32_t fragment, uint32_t micro) {
  uint32_t index = static_cast<uint32_t>(content.tasks.size());
  content.tasks.emplace_back(fragment, micro, static_cast<uint32_t>(content.bases.size()), 0u, 0.0, 0.0);
  for (auto &region : content.regions)
    content.bases.push_back(region->offset + (region->slots > 1 ? micro * region->bytes : 0));
  for (uint32_t i = 0; i < content.fragments[fragment]->steps.size(); ++i) {
    StepKind kind = content.fragments[fragment]->steps[i].kind();
    if (kind == StepKind::Collective || kind == StepKind::Send || kind == StepKind::Receive)
      content.communication_order.emplace_back(index, i);
  }
  return index;
}

} // namespace npar::testing
