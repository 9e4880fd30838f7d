// Opcodes of pickle protocol 2 (Python's pickletools.py); the calls are those of torch.save (torch/_utils.py, torch/serialization.py).
#include "engine/pytorch/StateDictPickle.h"

#include "engine/files/InsideFolder.h"

#include <array>

namespace npar::engine {

namespace {

struct StorageClass {
  const char *type, *name;
};

/// PyTorch's class of a storage for each type of safetensors.
constexpr std::array<StorageClass, 10> storageClasses = {{{"F32", "FloatStorage"},
                                                          {"F64", "DoubleStorage"},
                                                          {"F16", "HalfStorage"},
                                                          {"BF16", "BFloat16Storage"},
                                                          {"I64", "LongStorage"},
                                                          {"I32", "IntStorage"},
                                                          {"I16", "ShortStorage"},
                                                          {"I8", "CharStorage"},
                                                          {"U8", "ByteStorage"},
                                                          {"BOOL", "BoolStorage"}}};

/// A pickle under construction: each function appends what pushes one object on the unpickler's stack.
class Pickle {
public:
  void word(const std::string &text) {
    bytes += 'X';
    little(text.size(), 4);
    bytes += text;
  }
  void number(uint64_t value) {
    if (value <= UINT8_MAX) {
      bytes += 'K';
      little(value, 1);
    } else if (value <= INT32_MAX) {
      bytes += 'J';
      little(value, 4);
    } else {
      bytes += "\x8a\x09"; // nine bytes, so that the highest bit is no sign
      little(value, 8);
      bytes += '\0';
    }
  }
  void tuple(const std::vector<uint64_t> &values) {
    bytes += '(';
    for (uint64_t value : values)
      number(value);
    bytes += 't';
  }
  void object(const std::string &module, const std::string &name) { bytes += 'c' + module + '\n' + name + '\n'; }
  void op(const std::string &codes) { bytes += codes; }
  std::string take() { return std::move(bytes); }

private:
  void little(uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      bytes += static_cast<char>(value >> (8 * i));
  }
  std::string bytes = "\x80\x02";
};

/// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
void addTensor(Pickle &pickle, const TensorToWrite &tensor, const char *storage, size_t number) {
  std::vector<uint64_t> sizes(tensor.shape.begin(), tensor.shape.end()), strides(sizes.size());
  uint64_t elements = 1;
  for (size_t i = sizes.size(); i-- > 0; elements *= sizes[i])
    strides[i] = elements;
  pickle.object("torch._utils", "_rebuild_tensor_v2");
  pickle.op("((");
  pickle.word("storage");
  pickle.object("torch", storage);
  pickle.word(std::to_string(number));
  pickle.word("cpu");
  pickle.number(elements);
  pickle.op("tQ"); // the storage, by its persistent id
  pickle.number(0);
  pickle.tuple(sizes);
  pickle.tuple(strides);
  pickle.op("\x89"); // False
  pickle.object("collections", "OrderedDict");
  pickle.op(")R");
  pickle.op("tR");
}

} // namespace

Result<std::string> stateDictPickle(const std::vector<TensorToWrite> &tensors) {
  Pickle pickle;
  pickle.op("}(");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const char *storage = nullptr;
    for (const StorageClass &each : storageClasses)
      if (tensors[i].type == each.type)
        storage = each.name;
    if (!storage)
      return Status::badInput("tensor " + files::quotedName(tensors[i].name) + " has type " + tensors[i].type +
                              ", for which PyTorch has no storage");
    pickle.word(tensors[i].name);
    addTensor(pickle, tensors[i], storage, i);
  }
  pickle.op("u.");
  return pickle.take();
}

} // namespace npar::engine
