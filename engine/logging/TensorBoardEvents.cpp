// TensorBoard's event files: TFRecord records, each with a protocol buffer `Event`, of which a few fields are written by hand.
//   record:  u64 length, u32 masked CRC-32C of the length, the bytes, u32 masked CRC-32C of the bytes; little-endian
//   Event:   1 wall_time (double), 2 step (int64), 3 file_version (string, the first event only), 5 summary
//   Summary: 1 value, repeated;  Value: 1 tag (string), 2 simple_value (float)
#include "engine/logging/Crc32c.h"
#include "engine/logging/LogFormat.h"

#include <cmath>
#include <cstring>

namespace npar::engine {
namespace {

/// Bytes of a value on a little-endian host, the only kind that npar supports.
template <typename T> std::string bytesOf(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T> T readAt(const std::string &bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

//===- Protocol buffers ------------------------------------------------------------------------------------------------------===//

enum WireType { Varint = 0, Fixed64 = 1, Text = 2, Fixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(int field, WireType type) { return varint(static_cast<uint64_t>(field) << 3 | type); }
std::string text(int field, const std::string &bytes) { return key(field, Text) + varint(bytes.size()) + bytes; }

/// Reads a varint and moves on; false at the end of the bytes.
bool readVarint(const std::string &bytes, size_t &at, size_t end, uint64_t &value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < end; shift += 7) {
    auto byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

/// The properties of an event that matter when a log is cut: its step, and whether it belongs to a training step.
struct EventHead {
  int64_t step = 0;
  bool isVersion = false, trains = false;
};

/// The tag of the loss, which every training step logs.
constexpr const char *lossTag = "loss";

/// Reads the head of the event in [at, end); false if it is not one that npar writes.
bool readHead(const std::string &bytes, size_t at, size_t end, EventHead &head) {
  while (at < end) {
    uint64_t tag = 0, value = 0;
    if (!readVarint(bytes, at, end, tag))
      return false;
    if ((tag & 7) == Fixed64) {
      at += 8;
    } else if (!readVarint(bytes, at, end, value)) {
      return false;
    } else if ((tag & 7) == Varint) {
      head.step = tag >> 3 == 2 ? static_cast<int64_t>(value) : head.step;
    } else if ((tag & 7) == Text && value <= end - at) {
      head.isVersion |= tag >> 3 == 3;
      std::string first = text(1, lossTag); // the first value's tag follows the key and length of the value
      head.trains |= tag >> 3 == 5 && value > 2 + first.size() && bytes.compare(at + 2, first.size(), first) == 0;
      at += value;
    } else {
      return false;
    }
  }
  return at == end;
}

//===- The format --------------------------------------------------------------------------------------------------------------===//

class TensorBoardEvents final : public LogFormat {
public:
  /// The event of the version, without a time: it says nothing about the run.
  std::string head(const LogShape &) const override { return record(text(3, "brain.Event:2")); }

  std::string row(const LogShape &shape, const StepRecord &step) const override {
    Values values;
    values.add(lossTag, step.loss);
    values.add("grad_norm", step.gradNorm);
    values.add("lr", step.learningRate);
    values.add(shape.unit + "_per_second", step.perSecond);
    values.addKnown("flops_per_second", step.flopsPerSecond);
    values.addKnown("peak_share", step.peakShare);
    values.addKnown("loss_scale", step.lossScale);
    if (step.skipped)
      values.add("skipped", 1);
    if (step.validTokens)
      values.add("valid_tokens", static_cast<double>(*step.validTokens));
    if (step.epoch)
      values.add("epoch", static_cast<double>(*step.epoch));
    if (step.dataWait)
      values.add("data_wait_seconds", *step.dataWait);
    for (size_t i = 0; i < shape.losses.size() && i < step.losses.size(); ++i)
      values.add("loss/" + shape.losses[i], step.losses[i].value);
    for (size_t i = 0; i < shape.logged.size() && i < step.logged.size(); ++i)
      values.add("log/" + shape.logged[i], step.logged[i]);
    for (size_t i = 0; i < shape.groups.size() && i < step.groupNorms.size(); ++i)
      values.add("grad_norm/" + shape.groups[i], step.groupNorms[i]);
    return event(step.time, step.step, values);
  }

  std::string row(const LogShape &, const EvaluationRecord &evaluation) const override {
    Values values;
    for (const auto &[name, value] : evaluation.values)
      values.add("eval/" + name, value);
    return event(evaluation.time, evaluation.step, values);
  }

  std::string row(const LogShape &shape, const EpochRecord &epoch) const override {
    Values values;
    for (const auto &[name, value] : epochValues(epoch, shape))
      values.add(name, value);
    for (const auto &[name, value] : epoch.values)
      values.add("epoch_eval_" + name, value);
    if (!epoch.values.empty())
      values.add("epoch_best", epoch.best);
    return event(epoch.time, epoch.step, values);
  }

  std::string row(const LogShape &, const FailedSaveRecord &failed) const override {
    Values values;
    values.add("checkpoint_error", 1);
    return event(failed.time, failed.step, values);
  }

  KeptRows rowsBefore(const std::string &log, const LogShape &, int64_t step) const override {
    size_t size = 0;
    RowOrder order(step);
    while (log.size() - size >= 16) {
      auto length = readAt<uint64_t>(log, size);
      std::string_view bytes = log;
      const KeptRows unreadable{size, "the record after byte " + std::to_string(size) + " is not an event of a log"};
      if (readAt<uint32_t>(log, size + 8) != maskedCrc32c(bytes.substr(size, 8)))
        return unreadable;
      if (length > log.size() - size - 16) // cut off
        return {size};
      EventHead head;
      if (readAt<uint32_t>(log, size + 12 + length) != maskedCrc32c(bytes.substr(size + 12, length)) ||
          !readHead(log, size + 12, size + 12 + length, head) || head.isVersion != (size == 0))
        return unreadable;
      if (!head.isVersion && !order.keeps(head.step, head.trains))
        return {size, order.fault()};
      size += 16 + length;
    }
    return {size};
  }

private:
  struct Values {
    std::string summary;
    void add(const std::string &tag, double value) {
      summary += text(1, text(1, tag) + key(2, Fixed32) + bytesOf(static_cast<float>(value)));
    }
    void addKnown(const std::string &tag, double value) {
      if (value != 0)
        add(tag, value);
    }
  };

  /// Omits a time or step of 0, as protocol buffers do.
  static std::string event(double time, int64_t step, const Values &values) {
    return record((time != 0 ? key(1, Fixed64) + bytesOf(time) : "") + (step ? key(2, Varint) + varint(static_cast<uint64_t>(step)) : "") +
                  text(5, values.summary));
  }

  static std::string record(const std::string &bytes) {
    std::string length = bytesOf(static_cast<uint64_t>(bytes.size()));
    return length + bytesOf(maskedCrc32c(length)) + bytes + bytesOf(maskedCrc32c(bytes));
  }
};

} // namespace

const LogFormat &tensorBoardEvents() {
  static const TensorBoardEvents format;
  return format;
}

} // namespace npar::engine
