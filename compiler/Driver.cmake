# The front door: all phases in one library.
add_library(npar_compiler STATIC Compiler.cpp MlirDiagnostics.cpp Pipelines.cpp PlacedValues.cpp)
target_link_libraries(npar_compiler
  PUBLIC npar_dsl npar_program npar_settings
  PRIVATE npar_import npar_prepare npar_autodiff npar_place npar_schedule npar_codegen npar_export npar_emit
    npar_mlir_settings)
