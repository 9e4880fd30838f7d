// The object cache finds what it stored, and takes damage for absence.
#include "compiler/codegen/Cache.h"
#include "compiler/codegen/Codegen.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using npar::codegen::KernelCache;

TEST(Cache, FindsWhatWasPutAndRefusesDamage) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npar-cache-test", folder));
  std::string place = (folder + "/cache").str();
  KernelCache cache(place, true);
  std::string key = cache.key("source");
  EXPECT_NE(key, cache.key("other"));
  EXPECT_FALSE(cache.find(key));
  cache.put(key, std::string("object\n\0bytes", 13));
  EXPECT_EQ(cache.find(key), std::string("object\n\0bytes", 13));
  std::string path = place + "/" + key + ".o";
  std::fstream(path, std::ios::in | std::ios::out).seekp(90).put('X');
  EXPECT_FALSE(cache.find(key));
  cache.put(key, "again");
  EXPECT_EQ(cache.find(key), std::string("again"));
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_FALSE(cache.find(key));
  cache.put(key, "again");
  std::string other = cache.key("other");
  ASSERT_EQ(::rename(path.c_str(), (place + "/" + other + ".o").c_str()), 0);
  EXPECT_FALSE(cache.find(other)) << "an entry says whose it is";
  llvm::sys::fs::remove_directories(folder);
}

// Entries that other users can have written are not executed, and are written again.
TEST(Cache, WhatOthersCanWriteIsNotTaken) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npar-cache-test", folder));
  std::string place = (folder + "/cache").str();
  KernelCache cache(place, true);
  std::string key = cache.key("source"), path = place + "/" + key + ".o";
  cache.put(key, "object");
  struct stat info;
  ASSERT_EQ(::stat(place.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(cache.find(key));
  cache.put(key, "object");
  EXPECT_TRUE(cache.find(key));
  ASSERT_EQ(::rename(path.c_str(), (folder + "/elsewhere").str().c_str()), 0);
  ASSERT_EQ(::symlink((folder + "/elsewhere").str().c_str(), path.c_str()), 0);
  EXPECT_FALSE(cache.find(key)) << "no link is followed";
  cache.put(key, "object");
  EXPECT_TRUE(cache.find(key));
  ASSERT_EQ(::chmod(place.c_str(), 0777), 0);
  KernelCache open(place, true);
  EXPECT_EQ(open.problem(), "'" + place + "' cannot store kernels: '" + place +
                                "' is not trusted, others can write it (mode 0777): chmod go-w; all kernels are compiled each time");
  EXPECT_FALSE(open.find(key));
  llvm::sys::fs::remove_directories(folder);
}

TEST(Cache, AFolderThatCannotBeWrittenMisses) {
  KernelCache cache("/proc/nowhere", true), disabled("", false);
  cache.put("key", "object");
  EXPECT_FALSE(cache.find("key"));
  EXPECT_FALSE(disabled.find("key"));
}

TEST(Cache, ASecondCompilationTakesItsKernelsFromIt) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npar-cache-test", folder));
  mlir::DialectRegistry registry;
  npar::codegen::registerCodegen(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"mlir(
    rank.kernel @k attributes {extent = 1 : i64, flops = 4.0 : f64} {
    ^bb0(%x: tensor<5xf32, #nn.axes<a>>):
      %y = nn.tanh %x : (tensor<5xf32, #nn.axes<a>>) -> tensor<5xf32, #nn.axes<a>>
      rank.yield %y : tensor<5xf32, #nn.axes<a>>
    })mlir",
                                                        &context);
  npar::codegen::CodegenOptions options;
  options.cache = (folder + "/cache").str();
  npar::codegen::KernelObject first, second;
  ASSERT_TRUE(succeeded(compileKernels(*module, options, first)));
  ASSERT_TRUE(succeeded(compileKernels(*module, options, second)));
  EXPECT_EQ(first.compiled, 1);
  EXPECT_EQ(second.cached, 1);
  EXPECT_EQ(first.bytes, second.bytes);
  llvm::sys::fs::remove_directories(folder);
}
