// Two processes prove to each other that they belong to one job: the handshake succeeds, and every way in which it fails.
#include "engine/network/Handshake.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::testing {
namespace {

using namespace engine;
using State = Handshake::State;
using Bytes = std::vector<uint8_t>;

JobKeyPointer handshakeKey(const std::string &secret) { return std::make_shared<JobKey>(secret.data(), secret.size()); }

HandshakeTerms termsOf(uint32_t process, JobKeyPointer key, uint32_t processes = 3, const std::string &job = "a job") {
  return {job, process, processes, std::move(key)};
}

/// All that each side says, in turns, until neither has more to say.
struct Said {
  Bytes byConnecting, byAccepting;
};
Said shake(Handshake &connecting, Handshake &accepting, Handshake::Verdict verdict = Handshake::Verdict::Welcome) {
  Said said;
  for (bool moved = true; moved;) {
    moved = false;
    for (bool first : {true, false}) {
      Bytes bytes = (first ? connecting : accepting).take();
      moved |= !bytes.empty();
      Bytes &all = first ? said.byConnecting : said.byAccepting;
      all.insert(all.end(), bytes.begin(), bytes.end());
      Handshake &hears = first ? accepting : connecting;
      for (size_t at = 0; at < bytes.size() && hears.wants() > 0; ++at) // byte by byte
        hears.hear(&bytes[at], 1);
      if (hears.state() == State::Claimed)
        hears.answer(verdict);
    }
  }
  return said;
}

TEST(HandshakeTest, IsDoneWhereBothKnowTheSecret) {
  for (const JobKeyPointer &key : {handshakeKey("0123456789abcdef"), JobKeyPointer()}) {
    HandshakeTerms one = termsOf(2, key), other = termsOf(1, key);
    Handshake connecting = Handshake::connecting(one, 1, 4711), accepting = Handshake::accepting(other);
    shake(connecting, accepting);
    EXPECT_EQ(connecting.state(), State::Done) << connecting.why();
    EXPECT_EQ(accepting.state(), State::Done) << accepting.why();
    EXPECT_EQ(accepting.claim().process, 2u);
    EXPECT_EQ(accepting.claim().port, 4711u);
  }
}

TEST(HandshakeTest, OtherSecretsAreRefusedOnBothSides) {
  HandshakeTerms one = termsOf(2, handshakeKey("0123456789abcdef")), other = termsOf(1, handshakeKey("0123456789abcdeF"));
  Handshake connecting = Handshake::connecting(one, 1, 0), accepting = Handshake::accepting(other);
  shake(connecting, accepting);
  EXPECT_EQ(connecting.state(), State::Refused);
  EXPECT_NE(connecting.why().find("its job secret differs from that of this process"), std::string::npos);
  EXPECT_EQ(accepting.state(), State::Refused);
  EXPECT_EQ(accepting.why(), "its job secret differs");
}

TEST(HandshakeTest, ASecretOnOneSideAloneIsSaidOnBoth) {
  HandshakeTerms with = termsOf(2, handshakeKey("0123456789abcdef")), without = termsOf(1, nullptr);
  Handshake a = Handshake::connecting(with, 1, 0), b = Handshake::accepting(without);
  shake(a, b);
  EXPECT_EQ(a.why(), "it has no job secret, but this process has one");
  EXPECT_EQ(b.why(), "it has a job secret, but this process has none");
  with.process = 1, without.process = 2;
  Handshake c = Handshake::connecting(without, 1, 0), d = Handshake::accepting(with);
  shake(c, d);
  EXPECT_EQ(c.why(), "it has a job secret, but this process has none");
  EXPECT_EQ(d.why(), "it has no job secret, but this process has one");
}

// A stranger sends back what a process of the job sent: its hello, and with the side changed its proof as an answer.
TEST(HandshakeTest, WhatComesBackProvesNothing) {
  HandshakeTerms terms = termsOf(2, handshakeKey("0123456789abcdef"));
  Handshake connecting = Handshake::connecting(terms, 1, 0);
  Bytes hello = connecting.take();
  Handshake mirrored = connecting;
  mirrored.hear(hello.data(), hello.size());
  EXPECT_EQ(mirrored.state(), State::Stranger);
  hello[6] = 0; // "I accept"
  connecting.hear(hello.data(), hello.size());
  Bytes claim = connecting.take();
  ASSERT_EQ(claim.size(), sizeof(Handshake::Claim));
  Bytes answer = {0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}; // Welcome, process 1 of 3
  answer.insert(answer.end(), claim.end() - 32, claim.end());
  ASSERT_EQ(answer.size(), connecting.wants());
  connecting.hear(answer.data(), answer.size());
  EXPECT_EQ(connecting.state(), State::Stranger);
  EXPECT_EQ(connecting.why(), "it does not prove that it knows the job secret");
}

TEST(HandshakeTest, ARecordedHandshakeProvesNothingAgain) {
  HandshakeTerms one = termsOf(2, handshakeKey("0123456789abcdef")), other = termsOf(1, one.key);
  Handshake connecting = Handshake::connecting(one, 1, 7), accepting = Handshake::accepting(other);
  Said said = shake(connecting, accepting);
  ASSERT_EQ(accepting.state(), State::Done);
  Handshake replayed = Handshake::accepting(other);
  for (uint8_t byte : said.byConnecting)
    if (replayed.wants() > 0)
      replayed.hear(&byte, 1);
  EXPECT_EQ(replayed.state(), State::Refused);
  EXPECT_EQ(replayed.why(), "its job secret differs");
  Handshake deceived = Handshake::connecting(one, 1, 7);
  deceived.take();
  for (uint8_t byte : said.byAccepting)
    if (deceived.wants() > 0)
      deceived.hear(&byte, 1);
  EXPECT_EQ(deceived.state(), State::Stranger);
  EXPECT_EQ(deceived.why(), "it does not prove that it knows the job secret");
}

// A stranger that listens in place of a process cannot use the claim that it receives with another process.
TEST(HandshakeTest, AClaimIsForOneProcessAlone) {
  HandshakeTerms one = termsOf(2, handshakeKey("0123456789abcdef")), hub = termsOf(0, one.key);
  Handshake connecting = Handshake::connecting(one, 1, 7), accepting = Handshake::accepting(hub);
  shake(connecting, accepting);
  EXPECT_EQ(accepting.state(), State::Refused);
  EXPECT_NE(connecting.state(), State::Done);
}

TEST(HandshakeTest, EveryChangedByteIsNoticed) {
  HandshakeTerms one = termsOf(2, handshakeKey("0123456789abcdef")), other = termsOf(1, one.key);
  for (size_t changed = 0; changed < 40 + 56 + 40 + 48; ++changed) {
    Handshake connecting = Handshake::connecting(one, 1, 7), accepting = Handshake::accepting(other);
    size_t at = 0;
    bool done = false;
    auto pass = [&](Handshake &from, Handshake &to) {
      for (uint8_t byte : from.take()) {
        byte ^= at++ == changed ? 1 : 0;
        if (to.wants() > 0)
          to.hear(&byte, 1);
      }
      if (to.state() == State::Claimed)
        to.answer(Handshake::Verdict::Welcome);
    };
    for (int turn = 0; turn < 3; ++turn)
      pass(connecting, accepting), pass(accepting, connecting);
    done = connecting.state() == State::Done && accepting.state() == State::Done;
    // Four bytes of each claim and answer hold nothing.
    bool nothing = (changed >= 80 + 20 && changed < 80 + 24) || (changed >= 136 + 12 && changed < 136 + 16);
    EXPECT_EQ(done, nothing) << "byte " << changed;
  }
}

TEST(HandshakeTest, CountsAndNumbersThatDoNotFitAreRefused) {
  JobKeyPointer key = handshakeKey("0123456789abcdef");
  HandshakeTerms hub = termsOf(0, key), four = termsOf(1, key, 4), stranger = termsOf(1, key, 3, "another job"), twin = termsOf(0, key);
  Handshake a = Handshake::connecting(four, 0, 1), b = Handshake::accepting(hub);
  shake(a, b);
  EXPECT_EQ(a.why(), "it is one of 3 processes, and this process one of 4");
  EXPECT_EQ(b.verdict(), Handshake::Verdict::CountsDiffer);
  Handshake c = Handshake::connecting(stranger, 0, 1), d = Handshake::accepting(hub);
  shake(c, d);
  EXPECT_EQ(c.why(), "it belongs to another job");
  EXPECT_EQ(d.state(), State::Stranger);
  Handshake e = Handshake::connecting(twin, 0, 1), f = Handshake::accepting(hub);
  shake(e, f);
  EXPECT_EQ(f.state(), State::Stranger);
  HandshakeTerms one = termsOf(1, key);
  Handshake g = Handshake::connecting(one, 0, 1), h = Handshake::accepting(hub);
  shake(g, h, Handshake::Verdict::Taken);
  EXPECT_EQ(g.why(), "another process has already connected as process 1 before");
}

struct JobSecretTest : ::testing::Test {
  JobSecretTest() {
    char name[] = "/tmp/npar-secret-XXXXXX";
    folder = ::mkdtemp(name);
    path = folder + "/secret";
  }
  ~JobSecretTest() override {
    ::unlink(path.c_str());
    ::rmdir(folder.c_str());
  }
  void write(const std::string &content, unsigned mode) {
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), mode);
  }
  /// Empty, or why it is refused.
  std::string find(std::map<std::string, std::string> variables) {
    auto found = findJobKey([&](const char *name) {
      auto at = variables.find(name);
      return at == variables.end() ? nullptr : at->second.c_str();
    });
    key = found.ok() ? *found : nullptr;
    if (!found.ok()) {
      EXPECT_EQ(found.status().code(), Code::BadInput);
      for (const auto &[name, value] : variables)
        EXPECT_TRUE(value.empty() || name == "NPAR_JOB_SECRET_FILE" || found.status().message().find(value) == std::string::npos);
    }
    return found.status().message();
  }
  std::string ofFile(const std::string &content, unsigned mode) {
    write(content, mode);
    std::string why = find({{"NPAR_JOB_SECRET_FILE", path}});
    ::unlink(path.c_str());
    size_t name = why.find(path);
    return name == std::string::npos ? why : why.replace(name, path.size(), "FILE");
  }
  std::string folder, path;
  JobKeyPointer key;
};

TEST_F(JobSecretTest, IsTheSameFromTheEnvironmentAndFromAFile) {
  const std::string secret = "0123456789abcdef";
  EXPECT_EQ(find({}), "");
  EXPECT_EQ(key, nullptr);
  EXPECT_EQ(find({{"NPAR_JOB_SECRET", secret}}), "");
  Proof proof = key->prove("message");
  for (const char *end : {"", "\n", "\r\n"}) {
    EXPECT_EQ(ofFile(secret + end, 0600), "");
    EXPECT_TRUE(key->accepts(proof, "message"));
    EXPECT_FALSE(key->accepts(proof, "massage"));
  }
  EXPECT_EQ(ofFile(secret, 0400), "");
  EXPECT_EQ(ofFile("1234567" + std::string(longestSecret - 7, 'x') + "\n", 0600), "");
}

TEST_F(JobSecretTest, WhatIsNoSecretIsRefused) {
  const std::string needs = " bytes, a job needs 16 to 4096 random ones: export NPAR_JOB_SECRET=$(openssl rand -hex 32)";
  EXPECT_EQ(find({{"NPAR_JOB_SECRET", "short"}}), "NPAR_JOB_SECRET holds a secret of 5" + needs);
  EXPECT_EQ(find({{"NPAR_JOB_SECRET", ""}}), "NPAR_JOB_SECRET holds a secret of 0" + needs);
  EXPECT_EQ(find({{"NPAR_JOB_SECRET", std::string(5000, 'x')}}), "NPAR_JOB_SECRET holds a secret of more than 4096" + needs);
  const std::string line = " random ones: export NPAR_JOB_SECRET=$(openssl rand -hex 32)", differ = " differ, a job needs 16 to 4096";
  EXPECT_EQ(find({{"NPAR_JOB_SECRET", std::string(16, 'x')}}), "NPAR_JOB_SECRET holds a secret of 16 bytes, of which 1" + differ + line);
  EXPECT_EQ(ofFile(std::string(21, ' ') + "\n", 0600),
            "NPAR_JOB_SECRET_FILE 'FILE' holds a secret of 21 bytes, of which 1" + differ + line);
  EXPECT_EQ(ofFile("passwordpassword", 0600), "NPAR_JOB_SECRET_FILE 'FILE' holds a secret of 16 bytes, of which 7" + differ + line);
  EXPECT_EQ(ofFile("short\n", 0600), "NPAR_JOB_SECRET_FILE 'FILE' holds a secret of 5" + needs);
  EXPECT_EQ(ofFile("", 0600), "NPAR_JOB_SECRET_FILE 'FILE' holds a secret of 0" + needs);
  EXPECT_EQ(ofFile(std::string(longestSecret + 2, 'x'), 0600), "NPAR_JOB_SECRET_FILE 'FILE' holds a secret of more than 4096" + needs);
  EXPECT_EQ(ofFile("0123456789abcdef", 0644),
            "NPAR_JOB_SECRET_FILE 'FILE' has mode 0644, but other users must not be able to read a secret: run chmod 600 on it");
  EXPECT_NE(find({{"NPAR_JOB_SECRET_FILE", "/dev/null"}}).find("is not a regular file"), std::string::npos);
  EXPECT_NE(find({{"NPAR_JOB_SECRET_FILE", folder}}).find("is not a regular file"), std::string::npos);
  EXPECT_NE(find({{"NPAR_JOB_SECRET_FILE", folder + "/none"}}).find("cannot be opened: No such file"), std::string::npos);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(find({{"NPAR_JOB_SECRET_FILE", path}}).find("is not a regular file"), std::string::npos) << "and does not hang";
  EXPECT_EQ(find({{"NPAR_JOB_SECRET", "0123456789abcdef"}, {"NPAR_JOB_SECRET_FILE", path}}),
            "NPAR_JOB_SECRET and NPAR_JOB_SECRET_FILE are both set: unset one of them");
  if (::geteuid() == 0) { // only then can a file be given away
    ::unlink(path.c_str());
    write("0123456789abcdef", 0600);
    ASSERT_EQ(::chown(path.c_str(), 12345, 0), 0);
    EXPECT_NE(find({{"NPAR_JOB_SECRET_FILE", path}}).find("belongs to user 12345"), std::string::npos);
  }
}

} // namespace
} // namespace npar::testing
