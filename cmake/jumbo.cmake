# The jumbo build: sources of one folder are compiled several at a time, as one, so that what they include is read once.
# A cold build takes a third of the time. Names in the anonymous namespaces of a folder must differ for it. The sanitized
# and the fuzzing build compile every source alone, which shows a source that includes too little.
option(ORRERY_JUMBO "compile several sources of a folder as one" ON)
set(ORRERY_JUMBO_SOURCES 8 CACHE STRING "how many sources at most")

# orrery_jumbo(<target>): groups the target's sources by folder, in the order of their names.
function(orrery_jumbo target)
  if(NOT ORRERY_JUMBO)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(folder "")
  foreach(source IN LISTS sources)
    get_filename_component(own_folder ${source} DIRECTORY)
    if(NOT own_folder STREQUAL folder)
      set(folder ${own_folder})
      set(number 0)
    endif()
    math(EXPR group "${number} / ${ORRERY_JUMBO_SOURCES}")
    math(EXPR number "${number} + 1")
    get_filename_component(name ${folder} NAME)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes a class that a header declares and a source defines for one of the header.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endfunction()
