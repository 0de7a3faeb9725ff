# The compiler's options, the cache and the linker. Target orrery_options carries what every file of ours is built with.

# Build types: RelWithDebInfo is for work and tests (quick to compile, assertions on), Release is what users run.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(ccache_program ccache)
if(ccache_program)
  # Paths below the source folder are hashed relative to it: another clone hits the same cache. Sloppiness: what a
  # precompiled header needs.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${ccache_program})
endif()

add_library(orrery_options INTERFACE)
target_include_directories(orrery_options INTERFACE ${PROJECT_SOURCE_DIR})
set(cxx_options -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.
    -ffp-contract=off  # the same numbers on machines with and without fused multiply-add
    # The Python module is linked from the objects that the program is linked from.
    -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
if(ORRERY_FUZZ)
  # clang warns about more than g++, also inside libstdc++. Only warnings of g++ are errors.
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ORRERY_FUZZ needs clang: -DCMAKE_CXX_COMPILER=clang++-19")
  endif()
  list(APPEND cxx_options -fsanitize=fuzzer-no-link -Wno-deprecated-declarations)
else()
  list(APPEND cxx_options -Wall -Wextra -Wconversion -Werror
       --param=ggc-min-expand=100 --param=ggc-min-heapsize=524288)  # g++ collects garbage less often: a tenth faster
  # Null, alignment, object size and dynamic type are checked at every access: with -Og in place of -O1, two fifths of the
  # time to compile. The address sanitizer finds what comes of the first; the others are not what goes wrong here.
  list(APPEND sanitizers -fno-sanitize=null,alignment,object-size,vptr -Og)
endif()
target_compile_options(orrery_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${cxx_options}>")
if(ORRERY_FUZZ OR ORRERY_SANITIZE)
  # Not for files of tests (tests.cmake): it is the library that is checked. Eigen allocates in another way under the
  # address sanitizer unless told otherwise, and both kinds of files share its functions.
  target_compile_options(orrery_options INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:ORRERY_TEST>>>>:${sanitizers};-fno-omit-frame-pointer;-DEIGEN_MALLOC_ALREADY_ALIGNED=1>")
  target_link_options(orrery_options INTERFACE ${sanitizers})
endif()

# Only libraries that are used are loaded at start.
target_link_options(orrery_options INTERFACE -Wl,--as-needed)
if(ORRERY_LTO)
  target_compile_options(orrery_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-flto=auto>)
  target_link_options(orrery_options INTERFACE -flto=auto -Werror=odr)
else()
  find_program(mold_program mold)
  if(mold_program)
    target_link_options(orrery_options INTERFACE -fuse-ld=mold)
  endif()
endif()
