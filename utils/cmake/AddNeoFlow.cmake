# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How NeoFlow's libraries, tools and tests are declared. Upstream's
# add_mlir_library would install into MLIR's export set; these keep our own.

include(CMakePackageConfigHelpers)

# One precompiled header for every library that includes MLIR: most of the
# build time of a small translation unit is MLIR's headers.
function(neoflow_use_mlir target)
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS})
  target_link_libraries(${target} PRIVATE MLIR LLVM)
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${target} PRIVATE -fno-rtti)
  endif()
  if(NEOFLOW_ENABLE_PCH)
    if(NOT TARGET NeoFlowPCH)
      file(WRITE ${PROJECT_BINARY_DIR}/NeoFlowPCH.cpp "")
      add_library(NeoFlowPCH OBJECT ${PROJECT_BINARY_DIR}/NeoFlowPCH.cpp)
      target_include_directories(NeoFlowPCH SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
      target_compile_definitions(NeoFlowPCH PRIVATE ${LLVM_DEFINITIONS})
      if(NOT LLVM_ENABLE_RTTI)
        target_compile_options(NeoFlowPCH PRIVATE -fno-rtti)
      endif()
      target_precompile_headers(NeoFlowPCH PRIVATE ${PROJECT_SOURCE_DIR}/include/neoflow/Support/Precompiled.h)
    endif()
    target_precompile_headers(${target} REUSE_FROM NeoFlowPCH)
    # The header is built with -fPIC; CMake would give programs -fPIE.
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      # So that ccache may serve objects that were built with the header.
      target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
    endif()
  endif()
endfunction()

# add_neoflow_library(NAME sources... [DEPENDS tablegen targets] [LINK_LIBS libraries])
# A static library of the compiler that may use MLIR.
function(add_neoflow_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  neoflow_use_mlir(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  set_property(GLOBAL APPEND PROPERTY NEOFLOW_COMPILER_LIBRARIES ${name})
endfunction()

# add_neoflow_plain_library(NAME sources... [LINK_LIBS libraries])
# A static library that uses the C++ standard library and nothing else.
function(add_neoflow_plain_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  set_property(GLOBAL APPEND PROPERTY NEOFLOW_PLAIN_LIBRARIES ${name})
endfunction()

# add_neoflow_runtime_library(NAME sources... [LINK_LIBS libraries])
# A shared library without LLVM or MLIR.
function(add_neoflow_runtime_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} SHARED ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  install(TARGETS ${name} EXPORT NeoFlowRuntimeTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime)
endfunction()

# add_neoflow_runtime_tool(NAME sources... [LINK_LIBS libraries])
# A tool without LLVM or MLIR.
function(add_neoflow_runtime_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)
endfunction()

# add_neoflow_tool(NAME sources... [LINK_LIBS libraries])
# A tool of the compiler.
function(add_neoflow_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  neoflow_use_mlir(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Compiler)
endfunction()

# add_neoflow_unittest(NAME sources... [LINK_LIBS libraries])
# A GoogleTest program; lit runs it (test/Unit).
function(add_neoflow_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gtest_main)
  set(uses_mlir OFF)
  get_property(compiler_libraries GLOBAL PROPERTY NEOFLOW_COMPILER_LIBRARIES)
  foreach(library ${ARG_LINK_LIBS})
    if(library IN_LIST compiler_libraries)
      set(uses_mlir ON)
    endif()
  endforeach()
  if(uses_mlir)
    neoflow_use_mlir(${name})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unittests)
  add_dependencies(NeoFlowUnitTests ${name})
endfunction()

# The package: find_package(NeoFlow COMPONENTS Runtime) works without LLVM.
function(neoflow_install_package)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/NeoFlow)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/utils/cmake/NeoFlowConfig.cmake.in
    ${PROJECT_BINARY_DIR}/NeoFlowConfig.cmake INSTALL_DESTINATION ${destination})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/NeoFlowConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/NeoFlowConfig.cmake ${PROJECT_BINARY_DIR}/NeoFlowConfigVersion.cmake
          DESTINATION ${destination} COMPONENT Runtime)
  install(EXPORT NeoFlowRuntimeTargets NAMESPACE NeoFlow:: DESTINATION ${destination} COMPONENT Runtime)
  install(DIRECTORY include/neoflow/Runtime DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/neoflow
          COMPONENT Runtime FILES_MATCHING PATTERN *.h)
  install(FILES include/neoflow-c/Runtime.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/neoflow-c
          COMPONENT Runtime)
endfunction()
