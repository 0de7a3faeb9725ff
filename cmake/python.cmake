# The Python module: package `orrery` in ${PROJECT_BINARY_DIR}/python, ready to be imported from there. It is linked from
# the objects of the program. bindings/python/backend.py makes a wheel of it.
option(ORRERY_PYTHON "the Python module, where Python and pybind11 are installed" ON)
if(NOT ORRERY_PYTHON OR ORRERY_SANITIZE OR ORRERY_FUZZ)
  return()
endif()
# Debian's, which pybind11-dev goes with, whatever other one is first in the path.
if(NOT DEFINED Python_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python COMPONENTS Interpreter Development.Module QUIET)
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 CONFIG QUIET)
if(NOT Python_FOUND OR NOT pybind11_FOUND)
  message(STATUS "No Python module: python3-dev or pybind11-dev is not installed")
  return()
endif()

file(GLOB python_sources CONFIGURE_DEPENDS bindings/python/*.cc)
file(GLOB python_files CONFIGURE_DEPENDS bindings/python/orrery/*)
# Plans on many machines are the program's: the module loads no MPI. Since it defines the ranks itself, the linker leaves
# those of the planner's library out.
python_add_library(orrery_python MODULE WITH_SOABI ${python_sources}
                   ${PROJECT_SOURCE_DIR}/orrery/planner/workers/mpi_ranks.cc)
target_link_libraries(orrery_python PRIVATE orrery_cli pybind11::headers)
set(python_package ${PROJECT_BINARY_DIR}/python/orrery)
set_target_properties(orrery_python PROPERTIES OUTPUT_NAME _orrery LIBRARY_OUTPUT_DIRECTORY ${python_package}
                      BUILD_RPATH "$ORIGIN/../orrery.libs")  # of the wheel
orrery_jumbo(orrery_python)
# The sources beside the module, and the stubs that are made from it.
add_custom_command(TARGET orrery_python POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_files} ${python_package}
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python
          ${Python_EXECUTABLE} -B -P ${PROJECT_SOURCE_DIR}/bindings/python/stubs.py ${python_package}/__init__.pyi
  VERBATIM)
set_property(TARGET orrery_python APPEND PROPERTY LINK_DEPENDS ${python_files}
             ${PROJECT_SOURCE_DIR}/bindings/python/stubs.py)

# Its tests, with the program that must say the same.
if(ORRERY_SUITES)
  add_dependencies(orrery_python orrery)
  foreach(test test_module test_same_answers notebook)
    add_test(NAME python_${test}
             COMMAND ${Python_EXECUTABLE} -B -P ${PROJECT_SOURCE_DIR}/tests/python/${test}.py)
    set_property(TEST python_${test} PROPERTY ENVIRONMENT
      PYTHONPATH=${PROJECT_BINARY_DIR}/python ORRERY_PROGRAM=${PROJECT_BINARY_DIR}/orrery)
  endforeach()
endif()
