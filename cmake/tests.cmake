# Test programs, one a folder, and one ctest entry a program. Each knows, as string macros:
#   ORRERY_SOURCE_DIR the root of the source tree
#   ORRERY_PROGRAM    the built program (golden and accuracy suites)
# Their files are compiled without optimisation and without sanitizers: a third less time, and the trees dev and asan
# have the same objects, which ccache compiles once. Several are compiled as one (jumbo.cmake), a third of the time again:
# they share the templates of GoogleTest and of JSON. So the helpers of a test file are in a namespace of the file's name.
enable_testing()
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)
add_custom_target(all_tests)

add_library(orrery_test_options INTERFACE)
target_link_libraries(orrery_test_options INTERFACE GTest::gtest_main GTest::gmock rapidcheck_gtest)
target_compile_options(orrery_test_options INTERFACE -O0)
target_compile_definitions(orrery_test_options INTERFACE
  ORRERY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# What most test files include, compiled once: a third of the time of each.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/test_headers.cc CONTENT "")
add_library(test_headers OBJECT ${PROJECT_BINARY_DIR}/generated/test_headers.cc)
set_target_properties(test_headers PROPERTIES ORRERY_TEST ON)
target_link_libraries(test_headers PRIVATE orrery_options orrery_test_options fmt::fmt)
target_precompile_headers(test_headers PRIVATE <gmock/gmock.h> <nlohmann/json.hpp> <rapidcheck/gtest.h>)

# orrery_test(<program> <folder of sources> <library>...): nothing where the folder has no sources. A folder in it has the
# tests of one kind of question.
function(orrery_test program folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/*/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${program} ${sources})
  target_link_libraries(${program} PRIVATE ${ARGN} orrery_test_options)
  target_precompile_headers(${program} REUSE_FROM test_headers)
  orrery_jumbo(${program})
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests ORRERY_TEST ON)
  add_dependencies(all_tests ${program})
  # Files that tests write are in the build folder, so that tests of two checkouts can run at the same time.
  set(temporary ${PROJECT_BINARY_DIR}/tests/tmp/${program})
  file(MAKE_DIRECTORY ${temporary})
  if(program STREQUAL accuracy_tests)  # looks for the tables when it is run, not when it is configured
    add_test(NAME ${program} COMMAND sh -c "data=\"\${ORRERY_DATA:-${ORRERY_DATA_DIR}}\"; test -d \"\$data\" || { \
      echo \"skipped: no measured tables at \$data\"; exit 77; }; \
      exec $<TARGET_FILE:${program}> --gtest_brief=1")
    set_tests_properties(${program} PROPERTIES SKIP_RETURN_CODE 77)
  else()
    add_test(NAME ${program} COMMAND ${program} --gtest_brief=1)
  endif()
  set_property(TEST ${program} APPEND PROPERTY ENVIRONMENT TEST_TMPDIR=${temporary})
endfunction()

if(unit IN_LIST ORRERY_SUITES)
  file(GLOB unit_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true tests/unit/*)
  foreach(folder IN LISTS unit_folders)
    get_filename_component(room ${folder} NAME)
    if(NOT TARGET orrery_${room})
      message(FATAL_ERROR "tests/unit/${room}: no such room in cmake/rooms.txt")
    endif()
    # Tests of the rooms that read documents ask all kinds of questions.
    if(floor_of_${room} GREATER_EQUAL floor_of_scenario)
      orrery_test(unit_${room} ${folder} orrery_${room} orrery_kinds)
    else()
      orrery_test(unit_${room} ${folder} orrery_${room})
    endif()
  endforeach()
endif()

# The C++ that docs/ prints is compiled with the unit tests.
if(unit IN_LIST ORRERY_SUITES)
  include(cmake/docs.cmake)
endif()

if(law IN_LIST ORRERY_SUITES)
  orrery_test(law_tests tests/law ${all_room_targets})
endif()

# The suites that run the program need it built.
foreach(suite golden accuracy)
  if(suite IN_LIST ORRERY_SUITES)
    orrery_test(${suite}_tests tests/${suite} ${all_room_targets})
    if(TARGET ${suite}_tests AND TARGET orrery)
      target_compile_definitions(${suite}_tests PRIVATE ORRERY_PROGRAM="${PROJECT_BINARY_DIR}/orrery")
      add_dependencies(${suite}_tests orrery)
    endif()
  endif()
endforeach()

# The server: its parts, and the program as a server.
if(server IN_LIST ORRERY_SUITES)
  orrery_test(server_tests tests/server orrery_server)
  if(TARGET server_tests)
    target_compile_definitions(server_tests PRIVATE ORRERY_PROGRAM="${PROJECT_BINARY_DIR}/orrery")
    add_dependencies(server_tests orrery)
  endif()
endif()

# The page that is built into the program is what its sources make.
add_test(NAME page_is_built COMMAND ${PROJECT_SOURCE_DIR}/web/tools/check_built.sh)

if(house IN_LIST ORRERY_SUITES)
  orrery_test(house_tests tests/house orrery_options)
  # A header with a source is compiled first in it (house_tests checks); one without is compiled alone here.
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS orrery/*.h)
  set(header_sources)
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    if(NOT EXISTS ${source})
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${header})
      string(MAKE_C_IDENTIFIER ${path} name)
      file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/headers/${name}.cc CONTENT "#include \"${path}\"\n")
      list(APPEND header_sources ${PROJECT_BINARY_DIR}/generated/headers/${name}.cc)
    endif()
  endforeach()
  if(header_sources)
    add_library(header_checks OBJECT ${header_sources})
    target_link_libraries(header_checks PRIVATE orrery_options)
    add_dependencies(all_tests header_checks)
  endif()
endif()

# The packet level, as a check of the flow level: with -DORRERY_NS3=ON and Debian's libns3-dev,
# libgsl-dev and libsqlite3-dev. ns-3's headers are C++17.
if(ORRERY_NS3)
  find_library(ns3_core ns3-core REQUIRED)
  add_library(packet_level STATIC tests/packet/packet_level.cc)
  set_target_properties(packet_level PROPERTIES CXX_STANDARD 17)
  target_include_directories(packet_level PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(packet_level PUBLIC ns3-internet ns3-point-to-point ns3-traffic-control
    ns3-network ns3-stats ns3-core sqlite3 gsl gslcblas)
  add_executable(packet_tests tests/packet/packet_test.cc)
  target_link_libraries(packet_tests PRIVATE packet_level orrery_network orrery_test_options)
  add_test(NAME packet_tests COMMAND packet_tests --gtest_brief=1)
endif()

# The sweep of a user's GPU (tools/sweep): the parts that need neither GPU nor torch.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME sweep COMMAND ${Python3_EXECUTABLE} -B -m unittest
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/tools/sweep)
endif()
