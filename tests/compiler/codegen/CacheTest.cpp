// The object cache finds what it stored, and takes damage for absence.
#include "compiler/codegen/Cache.h"
#include "compiler/codegen/Codegen.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

#include <fstream>

using npar::codegen::KernelCache;

TEST(Cache, FindsWhatWasPutAndRefusesDamage) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("npar-cache-test", folder));
  KernelCache cache(folder.str().str(), true);
  std::string key = cache.key("source");
  EXPECT_NE(key, cache.key("other"));
  EXPECT_FALSE(cache.find(key));
  cache.put(key, std::string("object\n\0bytes", 13));
  EXPECT_EQ(cache.find(key), std::string("object\n\0bytes", 13));
  std::string path = (folder + "/" + key + ".o").str();
  std::fstream(path, std::ios::in | std::ios::out).seekp(40).put('X');
  EXPECT_FALSE(cache.find(key));
  cache.put(key, "again");
  EXPECT_EQ(cache.find(key), std::string("again"));
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_FALSE(cache.find(key));
  llvm::sys::fs::remove(path);
  llvm::sys::fs::remove(folder);
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
  options.cache = folder.str().str();
  npar::codegen::KernelObject first, second;
  ASSERT_TRUE(succeeded(compileKernels(*module, options, first)));
  ASSERT_TRUE(succeeded(compileKernels(*module, options, second)));
  EXPECT_EQ(first.compiled, 1);
  EXPECT_EQ(second.cached, 1);
  EXPECT_EQ(first.bytes, second.bytes);
  llvm::sys::fs::remove_directories(folder);
}
