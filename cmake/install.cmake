# What `cmake --install` and the Debian packages (CPack) put where: the program with its manual and completions
# (component program), and the library with its headers (component library). The target `install_files` makes those
# that a plain build of the program does not: man pages, completions and the library.
include(GNUInstallDirs)
set(install_folder ${PROJECT_BINARY_DIR}/install)

# One archive of the objects of all rooms.
set(room_objects)
foreach(target IN LISTS all_room_targets)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND room_objects $<TARGET_OBJECTS:${target}>)
  endif()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/library.cc CONTENT "")
add_library(orrery_library STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/generated/library.cc
            ${room_objects} $<TARGET_OBJECTS:orrery_bundle>)
set_target_properties(orrery_library PROPERTIES OUTPUT_NAME orrery ARCHIVE_OUTPUT_DIRECTORY ${install_folder})

set(completions ${install_folder}/orrery.bash ${install_folder}/_orrery ${install_folder}/orrery.fish)
add_custom_command(OUTPUT ${completions} ${install_folder}/man/orrery.1
  COMMAND orrery man --out ${install_folder}/man
  COMMAND orrery completion bash > ${install_folder}/orrery.bash
  COMMAND orrery completion zsh > ${install_folder}/_orrery
  COMMAND orrery completion fish > ${install_folder}/orrery.fish
  DEPENDS orrery VERBATIM COMMENT "Manual and completions")
add_custom_target(install_files DEPENDS orrery orrery_library ${completions} ${install_folder}/man/orrery.1)

# The fronts, and what they include.
file(STRINGS cmake/rooms.txt front_lines REGEX "^([0-9]| +front)")
set(public_headers)
foreach(line IN LISTS front_lines)
  if(line MATCHES "^[0-9]+ +([a-z]+)$")
    set(room ${CMAKE_MATCH_1})
  elseif(line MATCHES "^ +front +(.+)$")
    list(APPEND public_headers orrery/${room}/${CMAKE_MATCH_1})
  endif()
endforeach()
set(unread ${public_headers})
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS ${header} include_lines REGEX "^#include \"orrery/")
  foreach(line IN LISTS include_lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    if(NOT included IN_LIST public_headers)
      list(APPEND public_headers ${included})
      list(APPEND unread ${included})
    endif()
  endforeach()
endwhile()

install(TARGETS orrery RUNTIME COMPONENT program)
install(DIRECTORY ${install_folder}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
install(FILES ${install_folder}/orrery.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME orrery
        COMPONENT program OPTIONAL)
install(FILES ${install_folder}/_orrery DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program
        OPTIONAL)
install(FILES ${install_folder}/orrery.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT program OPTIONAL)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/orrery RENAME copyright COMPONENT program)
install(FILES ${install_folder}/liborrery.a DESTINATION lib COMPONENT library OPTIONAL)
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT library)
endforeach()
set(orrery_has_mpi FALSE)
if(MPI_CXX_FOUND)
  set(orrery_has_mpi TRUE)
endif()
configure_file(cmake/orreryConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/orreryConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/orreryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/orreryConfig.cmake ${PROJECT_BINARY_DIR}/generated/orreryConfigVersion.cmake
        DESTINATION lib/cmake/orrery COMPONENT library)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/liborrery-dev RENAME copyright COMPONENT library)
install(FILES cmake/rooms.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/liborrery-dev COMPONENT library)

# orrery_VERSION_ARCH.deb and liborrery-dev_VERSION_ARCH.deb.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program library)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME orrery)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME liborrery-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "g++, libfmt-dev, libyaml-cpp-dev, nlohmann-json3-dev, zlib1g-dev, libeigen3-dev, \
libnlopt-cxx-dev, libnlopt-dev, libtbb-dev, libsqlite3-dev")
if(MPI_CXX_FOUND)
  string(APPEND CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ", libopenmpi-dev")
endif()
set(CPACK_PACKAGE_VENDOR "Orrery")
set(CPACK_PACKAGE_CONTACT "The Orrery maintainers <maintainers@orrery.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Predicts latency, throughput, memory and cost of LLM inference and training")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Library of Orrery: headers and archive")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
